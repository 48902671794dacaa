#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cerar::runtime {

/// Plain bytes or with a unit, all of them powers of 1024, in the spellings of nccl-tests and of people:
/// "4096", "64K", "64k", "64KB", "64 KiB", "1M", "2g", "1T". Throws `invalid_argument` naming the text.
std::uint64_t parse_size(const std::string& text);

/// More sizes than this are a mistake in the factor.
inline constexpr int kMostSizes = 10000;

/// begin, begin * factor, ... up to end, ascending. Throws `invalid_argument` for an empty range, for a
/// factor not above 1, for one that makes more than `kMostSizes` sizes, and for a range that would never
/// leave 0.
std::vector<std::uint64_t> sizes_between(const std::string& begin, const std::string& end, double factor);

}  // namespace cerar::runtime
