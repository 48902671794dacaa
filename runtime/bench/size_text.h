#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cerar::runtime {

/// "64K", "1M", "2G" or plain bytes. Throws `invalid_argument` naming the text.
std::uint64_t parse_size(const std::string& text);

/// begin, begin * factor, ... up to end. Throws `invalid_argument` for an empty range or a factor not
/// above 1.
std::vector<std::uint64_t> sizes_between(const std::string& begin, const std::string& end, double factor);

}  // namespace cerar::runtime
