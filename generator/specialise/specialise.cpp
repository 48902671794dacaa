#include "generator/specialise/specialise.h"

#include <clang/AST/Decl.h>
#include <clang/Format/Format.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/compile/contain.h"
#include "generator/specialise/parameters.h"
#include "generator/specialise/template_parse.h"
#include "generator/specialise/template_walk.h"
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

/// Lays generated source out in the style of this repository (clang-format: Google, 110 columns), from byte
/// `begin` on; what comes before it and the tables of parameters are laid out already and stay as they are.
std::string lay_out(const std::string& source, std::size_t begin) {
  std::vector<std::string> tables;
  const std::string text = without_tables(source, tables);
  std::string formatted;
  contain("Clang's formatter", [&] { formatted = formatted_from(text, begin); });
  return with_tables(formatted, tables);
}

std::string template_source(std::string_view family) {
  const std::string path = fmt::format("templates/{}.cu", family);
  const auto& files = template_catalog();
  const bool exists = family != "index" &&
                      std::any_of(files.begin(), files.end(), [&](const auto& f) { return f.path == path; });
  if (!exists)
    throw Error(ErrorCode::invalid_plan, fmt::format("there is no kernel template called {}.", family));
  return std::string(template_text(path));
}

std::string with_wire(std::string source, const std::string& wire) {
  constexpr std::string_view kDefault = "templates/wire/f32.h";
  return source.replace(source.find(kDefault), kDefault.size(), fmt::format("templates/wire/{}.h", wire));
}

std::string set_parameters(const KernelSpec& spec) {
  const std::string source = with_wire(template_source(spec.family), spec.wire);
  std::vector<TextEdit> edits;
  parse_template(spec.family, source, Bodies::skip, [&](clang::ASTContext& context) {
    check_types(context, spec);
    const TemplateDeclarations found = find_declarations(context);
    for (const clang::VarDecl* parameter : found.parameters) {
      const std::string name = parameter->getNameAsString();
      edits.push_back(initialiser_edit(context, *parameter, value_text(name, spec.parameters.at(name))));
    }
    for (const clang::FunctionDecl* kernel : found.kernels)
      edits.push_back(
          rename_edit(context, *kernel, fmt::format("cerar_{}_{}", spec.prefix, kernel->getNameAsString())));
  });
  return apply_edits(source, std::move(edits));
}

std::string drop_branches(const KernelSpec& spec, const std::string& source) {
  std::vector<TextEdit> edits;
  parse_template(spec.family, source, Bodies::parse, [&](clang::ASTContext& context) {
    check_dimensions(context, spec);
    for (const clang::FunctionDecl* function : find_declarations(context).functions) {
      std::vector<TextEdit> more = dead_branch_edits(context, *function);
      edits.insert(edits.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  });
  return apply_edits(source, std::move(edits));
}

// The path of a line that includes a template file.
std::optional<std::string> included_path(std::string_view line) {
  constexpr std::string_view kInclude = "#include \"";
  if (line.substr(0, kInclude.size()) != kInclude) return std::nullopt;
  return std::string(line.substr(kInclude.size(), line.find('"', kInclude.size()) - kInclude.size()));
}

/// Appends `text` to `body`, and in place of each include the file to `shim`, once; without directives.
void expand(std::string_view text, std::set<std::string>& seen, std::string& shim, std::string& body) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line == "#pragma once") continue;
    if (const auto path = included_path(line)) {
      if (seen.insert(*path).second) expand(template_text(*path), seen, shim, shim);
    } else {
      body.append(line).append("\n");
    }
  }
}

std::string header_comment(const KernelSpec& spec) {
  std::string text = fmt::format(
      "// All-reduce kernels of variant {}, generated by cerar-tune {}; do not edit.\n//\n// Parameters:",
      spec.prefix, CERAR_VERSION_TEXT);
  const char* separator = " ";
  for (const auto& [name, value] : spec.parameters) {
    text += fmt::format("{}{} = {}", separator, name, value_summary(value));
    separator = ",\n//             ";
  }
  return text + "\n\n";
}

/// Tells the shim where tables can be kept, and the size of blocks.
std::string definitions(const KernelSpec& spec) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : spec.parameters)
    if (const auto* table = std::get_if<FloatTable>(&value)) bytes += table->values.size() * sizeof(float);
  std::string text = bytes > 0 ? fmt::format("#define CERAR_TABLE_BYTES {}\n", bytes) : "";
  if (spec.block > 0) text += fmt::format("#define CERAR_BLOCK {}\n", spec.block);
  return text;
}

}  // namespace

std::string specialise(const KernelSpec& spec) {
  const std::string specialised = drop_branches(spec, set_parameters(spec));
  std::set<std::string> seen;
  std::string shim, body;
  expand(specialised, seen, shim, body);
  std::string text = header_comment(spec) + definitions(spec) + shim + "\n";
  const std::size_t begin = text.size();
  text += std::string(kSpecialisedMarker) + spec.family + ".cu\n" + body;
  text = lay_out(text, begin);
  if (!spec.mark.empty()) text += fmt::format("\nCERAR_MARK(\"{}\");\n", spec.mark);
  return text;
}

std::vector<std::string> roles(std::string_view family) {
  std::vector<std::string> names;
  parse_template(family, template_source(family), Bodies::skip, [&](clang::ASTContext& context) {
    for (const clang::FunctionDecl* kernel : find_declarations(context).kernels)
      names.push_back(kernel->getNameAsString());
  });
  return names;
}

}  // namespace cerar::generator
