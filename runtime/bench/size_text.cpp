#include "runtime/bench/size_text.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/base/error.h"

namespace cerar::runtime {

std::uint64_t parse_size(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const int shift = unit.empty() || unit == "B" ? 0
                    : unit == "K"               ? 10
                    : unit == "M"               ? 20
                    : unit == "G"               ? 30
                                                : -1;
  if (error != std::errc() || shift < 0 || value > (std::uint64_t{1} << 42) >> shift)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the size '{}' is not a number of bytes up to 4096G, such as 4096, 64K, 1M or 2G.",
                    text));
  return value << shift;
}

std::vector<std::uint64_t> sizes_between(const std::string& begin, const std::string& end, double factor) {
  const std::uint64_t first = parse_size(begin), last = parse_size(end);
  if (first > last)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("sizes run from {} to {}; the first must not exceed the last.", begin, end));
  if (!(factor > 1))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the factor between sizes is {} but must exceed 1.", factor));
  std::vector<std::uint64_t> sizes;
  for (auto size = static_cast<double>(first); size <= static_cast<double>(last) && sizes.size() < 1000;
       size *= factor) {
    sizes.push_back(static_cast<std::uint64_t>(size));
    if (first == 0) break;
  }
  return sizes;
}

}  // namespace cerar::runtime
