#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Numbers and tables as the programs read and print them.
namespace cerar::program {

/// Plain bytes or with a unit, all of them powers of 1024, in the spellings of nccl-tests and of people:
/// "4096", "64K", "64k", "64KB", "64 KiB", "1M", "2g", "1T". Throws `invalid_argument` naming the text.
std::uint64_t parse_size(const std::string& text);

/// More sizes than this are a mistake in the factor.
inline constexpr int kMostSizes = 10000;

/// begin, begin * factor, ... up to end, ascending. Throws `invalid_argument` for an empty range, for a
/// factor not above 1, for one that makes more than `kMostSizes` sizes, and for a range that would never
/// leave 0.
std::vector<std::uint64_t> sizes_between(const std::string& begin, const std::string& end, double factor);

/// "64 KiB", "1.5 GiB", "unbounded" for the largest number.
std::string bytes_text(std::uint64_t bytes);

/// Four digits at most, "10", "0.25", "1e6": powers of ten as people write them.
std::string number_text(double value);

/// Columns padded to their widest cell, right-aligned but for the first; the first row is the heading.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace cerar::program
