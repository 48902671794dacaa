#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cerar::bench {

/// Writes what every contestant starts from and is checked against: make_input(normal) of each rank, and
/// their sum in double, as files of `directory` that all workers map.
void write_inputs(const std::string& directory, int ranks, std::size_t count);

/// One rank's view of those files.
class Inputs {
 public:
  /// Throws `system` when a file is missing or has another size.
  Inputs(const std::string& directory, int rank, std::size_t count);
  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  std::span<const float> input() const { return input_; }

  /// rms(result - sum) / rms(sum), in double; infinite when any element is not finite.
  double relative_error(std::span<const float> result) const;

 private:
  std::span<const float> input_;
  std::span<const double> sum_;
};

}  // namespace cerar::bench
