#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cerar::tuner {

/// "64 KiB", "1.5 GiB", "unbounded" for the largest number.
std::string bytes_text(std::uint64_t bytes);

/// Four digits at most, "10", "0.25", "1e6": powers of ten as people write them.
std::string number_text(double value);

/// Columns padded to their widest cell, right-aligned but for the first; the first row is the heading.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace cerar::tuner
