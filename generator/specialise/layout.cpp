#include "generator/specialise/layout.h"

#include <clang/Format/Format.h>

#include <string_view>
#include <vector>

#include "generator/compile/contain.h"
#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

constexpr std::string_view kOpen = "= {\n", kEmpty = "= {};", kClose = "};";

bool is_table(std::string_view source, std::size_t at) {
  return source.substr(source.rfind('\n', at) + 1, 11) == "CERAR_TABLE";
}

/// Takes the numbers out of tables, which a line "CERAR_TABLE ... = {" opens and "};" ends: they are laid out
/// already, and the formatter would take seconds over large ones.
std::string without_tables(std::string_view source, std::vector<std::string>& tables) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t open = source.find(kOpen); open != std::string_view::npos;
       open = source.find(kOpen, open + 1)) {
    if (!is_table(source, open)) continue;
    const std::size_t end = source.find(kClose, open) + kClose.size();
    tables.emplace_back(source.substr(open, end - open));
    result.append(source.substr(at, open - at)).append(kEmpty);
    at = end;
  }
  return result.append(source.substr(at));
}

std::string with_tables(const std::string& source, const std::vector<std::string>& tables) {
  std::string result;
  std::size_t at = 0;
  auto table = tables.begin();
  for (std::size_t open = source.find(kEmpty); open != std::string::npos && table != tables.end();
       open = source.find(kEmpty, open + 1)) {
    if (!is_table(source, open)) continue;
    result.append(source, at, open - at).append(*table++);
    at = open + kEmpty.size();
  }
  return result.append(source, at);
}

std::string formatted_from(const std::string& text, std::size_t begin) {
  clang::format::FormatStyle style = clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 110;
  style.DerivePointerAlignment = false;
  style.ReflowComments = false;
  const clang::tooling::Range range(static_cast<unsigned>(begin), static_cast<unsigned>(text.size() - begin));
  auto result =
      clang::tooling::applyAllReplacements(text, clang::format::reformat(style, text, {range}, "kernels.cu"));
  if (!result)
    throw Error(ErrorCode::internal,
                "generated source cannot be laid out: " + llvm::toString(result.takeError()) + ".");
  return *result;
}

}  // namespace

std::string lay_out(const std::string& source, std::size_t begin) {
  std::vector<std::string> tables;
  const std::string text = without_tables(source, tables);
  std::string formatted;
  contain("Clang's formatter", [&] { formatted = formatted_from(text, begin); });
  return with_tables(formatted, tables);
}

}  // namespace cerar::generator
