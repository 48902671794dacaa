#include "runtime/program/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "runtime/base/error.h"

namespace cerar::program {
namespace {

/// Bits that a unit stands for, -1 where it is none: the letters of kUnits, with or without B or iB behind.
int shift_of(std::string_view unit) {
  static constexpr std::string_view kUnits = "kmgt";
  if (unit.empty()) return 0;
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  std::string lower(unit);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  if (lower == "b") return 0;
  if (lower.empty()) return -1;
  const auto at = kUnits.find(lower.front());
  const std::string_view rest = std::string_view(lower).substr(1);
  if (at == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return -1;
  return 10 * (static_cast<int>(at) + 1);
}

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalid_argument, sentence); }

}  // namespace

std::uint64_t parse_size(const std::string& text) {
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const int shift = shift_of({end, static_cast<std::size_t>(last - end)});
  if (error != std::errc() || shift < 0 || value > (std::uint64_t{1} << 42) >> shift)
    refuse(fmt::format("the size '{}' is not a number of bytes up to 4096G, such as 4096, 64K, 1M or 2G.",
                       text));
  return value << shift;
}

std::vector<std::uint64_t> sizes_between(const std::string& begin, const std::string& end, double factor) {
  const std::uint64_t first = parse_size(begin), last = parse_size(end);
  if (first > last)
    refuse(fmt::format("sizes run from {} to {}; the first must not exceed the last.", begin, end));
  if (!(factor > 1)) refuse(fmt::format("the factor between sizes is {} but must exceed 1.", factor));
  if (first == 0 && last > 0)
    refuse(fmt::format("sizes run from {} to {} by a factor, which never leaves 0; begin with a larger size.",
                       begin, end));
  if (first == 0) return {0};
  const double steps = std::log(static_cast<double>(last) / static_cast<double>(first)) / std::log(factor);
  if (steps >= kMostSizes)
    refuse(
        fmt::format("the factor {} between sizes makes {:.0f} of them from {} to {}, and {} is the most; "
                    "choose a larger factor.",
                    factor, steps + 1, begin, end, kMostSizes));
  std::vector<std::uint64_t> sizes;
  for (auto size = static_cast<double>(first); size <= static_cast<double>(last); size *= factor) {
    const auto whole = static_cast<std::uint64_t>(size);
    if (sizes.empty() || whole > sizes.back()) sizes.push_back(whole);
  }
  return sizes;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == std::numeric_limits<std::uint64_t>::max()) return "unbounded";
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.4g}", value);
  const auto exponent = text.find("e+");
  if (exponent != std::string::npos) text.erase(exponent + 1, text[exponent + 2] == '0' ? 2 : 1);
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace cerar::program
