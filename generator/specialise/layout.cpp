#include "generator/specialise/layout.h"

#include <clang/Format/Format.h>

#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

using clang::tooling::Range;

/// Everything from `begin` on but the lines of tables, which a line "CERAR_PARAMETER ... = {" opens and "};"
/// ends.
std::vector<Range> ranges_to_format(std::string_view source, std::size_t begin) {
  std::vector<Range> ranges;
  std::size_t at = begin;
  const auto add = [&](std::size_t from, std::size_t to) {
    if (to > from) ranges.emplace_back(static_cast<unsigned>(from), static_cast<unsigned>(to - from));
  };
  for (;;) {
    const std::size_t open = source.find("= {\n", at);
    if (open == std::string_view::npos) break;
    const std::size_t line = source.rfind('\n', open) + 1, close = source.find("};", open);
    if (source.substr(line, 15) == "CERAR_PARAMETER") {
      add(begin, line - 1);
      begin = source.find('\n', close) + 1;
    }
    at = close;
  }
  add(begin, source.size());
  return ranges;
}

}  // namespace

std::string lay_out(const std::string& source, std::size_t begin) {
  clang::format::FormatStyle style = clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 110;
  style.DerivePointerAlignment = false;
  style.ReflowComments = false;
  const auto replacements =
      clang::format::reformat(style, source, ranges_to_format(source, begin), "kernels.cu");
  auto result = clang::tooling::applyAllReplacements(source, replacements);
  if (!result)
    throw Error(ErrorCode::internal,
                "generated source cannot be laid out: " + llvm::toString(result.takeError()) + ".");
  return *result;
}

}  // namespace cerar::generator
