#include "tests/bench/peers/inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/measure/measure.h"

namespace cerar::bench {
namespace {

std::string input_file(const std::string& directory, int rank) {
  return fmt::format("{}/input-{}", directory, rank);
}

std::string sum_file(const std::string& directory) { return directory + "/sum"; }

template <class T>
void write_file(const std::string& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file.flush())
    throw Error(ErrorCode::system, fmt::format("{} cannot be written; free room in its directory.", path));
}

template <class T>
std::span<const T> map_file(const std::string& path, std::size_t count) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  const bool fits = file >= 0 && ::fstat(file, &status) == 0 &&
                    static_cast<std::size_t>(status.st_size) == count * sizeof(T);
  void* memory = fits ? ::mmap(nullptr, count * sizeof(T), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED)
    throw Error(
        ErrorCode::system,
        fmt::format("{} does not hold {} elements; write the inputs of this run first.", path, count));
  return {static_cast<const T*>(memory), count};
}

template <class T>
void unmap(std::span<const T> values) {
  if (!values.empty()) ::munmap(const_cast<T*>(values.data()), values.size_bytes());
}

}  // namespace

void write_inputs(const std::string& directory, int ranks, std::size_t count) {
  std::vector<double> sum(count, 0.0);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto input = runtime::make_input(runtime::Input::normal, rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += input[i];
    write_file(input_file(directory, rank), input);
  }
  write_file(sum_file(directory), sum);
}

Inputs::Inputs(const std::string& directory, int rank, std::size_t count)
    : input_(map_file<float>(input_file(directory, rank), count)),
      sum_(map_file<double>(sum_file(directory), count)) {}

Inputs::~Inputs() {
  unmap(input_);
  unmap(sum_);
}

double Inputs::relative_error(std::span<const float> result) const {
  double difference = 0, exact = 0;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    const double off = result[i] - sum_[i];
    difference += off * off;
    exact += sum_[i] * sum_[i];
  }
  return std::isfinite(difference) ? std::sqrt(difference / exact) : std::numeric_limits<double>::infinity();
}

}  // namespace cerar::bench
