#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/pieces.h"
#include "runtime/gpu/resources.h"

namespace cerar::test {

/// How one message-level run is made.
struct RunCase {
  std::string name;
  std::uint64_t rows = 0;  ///< of each class
  std::uint64_t tail = 0;  ///< elements behind them
  bool in_place = false, average = false;
  int vector_width = 4;       ///< of kernels; with 1 the vectors are not aligned for more
  long long most_blocks = 0;  ///< of a launch, so that blocks must stride; 0: as many as the device holds
};

/// Where one rank's buffers lie in one block of memory, behind and before guard zones. The block exists
/// twice, on the device and as its image on the host, and begins as poison: NaNs as f32 and, half of them, as
/// f16.
class Arena {
 public:
  Arena(const runtime::Variant& variant, const runtime::Piece& piece, const RunCase& run);

  static constexpr std::uint32_t kPoison = 0x7fe5a5a5;

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t early_class() const { return early_class_; }
  std::uint64_t message_offset(int visit) const { return message_[visit % 2]; }
  std::uint64_t input_offset() const { return input_; }
  std::uint64_t slots_offset() const { return slots_; }
  std::uint64_t padded_offset() const { return padded_; }

  /// Addresses for a visit, for a block that begins at `base`, an address of the host's or the device's.
  runtime::PieceMemory at(std::uint64_t base, int visit) const;

  /// "guard zone", "message", ... for errors.
  std::string region_of(std::uint64_t offset) const;

 private:
  std::uint64_t place(const char* name, std::uint64_t bytes, std::uint64_t skew);

  struct Region {
    const char* name;
    std::uint64_t begin, end;
  };
  std::vector<Region> regions_;
  std::uint64_t bytes_ = 0, early_class_ = 0;
  std::uint64_t input_ = 0, slots_ = 0, padded_ = 0, early_ = 0, message_[2] = {};
};

}  // namespace cerar::test
