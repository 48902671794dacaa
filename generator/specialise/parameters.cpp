#include "generator/specialise/parameters.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <set>

#include "generator/specialise/template_walk.h"
#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

std::string float_text(const std::string& name, float value) {
  if (!std::isfinite(value))
    throw Error(ErrorCode::invalid_plan,
                fmt::format("parameter {} is {}; kernels need finite coefficients.", name, value));
  if (value == 0.0f && !std::signbit(value)) return "0.0f";
  if (std::fabs(value) == 1.0f) return value > 0 ? "1.0f" : "-1.0f";
  return fmt::format("{:a}f", static_cast<double>(value));
}

constexpr std::size_t kColumns = 110;

std::string flat_text(const std::string& name, const FloatTable& table, std::size_t depth, std::size_t& at) {
  if (depth == table.dimensions.size()) return float_text(name, table.values[at++]);
  std::string text = "{";
  for (int i = 0; i < table.dimensions[depth]; ++i) {
    if (i > 0) text += ", ";
    text += flat_text(name, table, depth + 1, at);
  }
  return text + "}";
}

/// Writes a table part on one line where it fits; otherwise numbers fill lines and rows get lines of their
/// own.
void append_table(std::string& out, const std::string& name, const FloatTable& table, std::size_t depth,
                  std::size_t indent, std::size_t& at) {
  std::size_t end = at;
  const std::string flat = flat_text(name, table, depth, end);
  if (depth > 0 && indent + flat.size() + 2 <= kColumns) {
    out += flat;
    at = end;
    return;
  }
  out += "{";
  std::string new_line(++indent + 1, ' ');
  new_line[0] = '\n';
  const bool holds_rows = depth + 1 < table.dimensions.size();
  std::size_t column = indent;
  for (int i = 0; i < table.dimensions[depth]; ++i) {
    if (holds_rows) {
      if (i > 0) out.append(",").append(new_line);
      append_table(out, name, table, depth + 1, indent, at);
      continue;
    }
    const std::string number = float_text(name, table.values[at++]);
    if (i > 0) {
      out += ",";
      const bool fits = column + number.size() + 4 <= kColumns;
      out += fits ? " " : new_line;
      column = fits ? column + 2 : indent;
    }
    out += number;
    column += number.size();
  }
  out += "}";
}

std::string kind_of(const Value& value) {
  static const char* const kinds[] = {"bool", "int", "float", "float table"};
  return kinds[value.index()];
}

std::string kind_of(clang::QualType type) {
  if (type->isConstantArrayType()) {
    while (const auto* array = llvm::dyn_cast<clang::ConstantArrayType>(type.getCanonicalType().getTypePtr()))
      type = array->getElementType();
    return kind_of(type) + " table";
  }
  if (type->isBooleanType()) return "bool";
  if (type->isIntegerType()) return "int";
  return "float";
}

std::vector<int> dimensions_of(clang::QualType type) {
  std::vector<int> dimensions;
  while (const auto* array = llvm::dyn_cast<clang::ConstantArrayType>(type.getCanonicalType().getTypePtr())) {
    dimensions.push_back(static_cast<int>(array->getSize().getZExtValue()));
    type = array->getElementType();
  }
  return dimensions;
}

}  // namespace

std::string value_text(const std::string& name, const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<float>(&value)) return float_text(name, *number);
  const auto& table = std::get<FloatTable>(value);
  std::size_t size = 1;
  for (const int dimension : table.dimensions) size *= static_cast<std::size_t>(dimension);
  if (size != table.values.size())
    throw Error(ErrorCode::invalid_plan,
                fmt::format("parameter {} holds {} numbers, but its dimensions ask for {}.", name,
                            table.values.size(), size));
  std::size_t at = 0;
  std::string rows;
  append_table(rows, name, table, 0, 3, at);
  return rows.replace(0, 1, "{\n    ");
}

std::string value_summary(const Value& value) {
  if (const auto* table = std::get_if<FloatTable>(&value))
    return fmt::format("float[{}]", fmt::join(table->dimensions, "]["));
  return value_text("", value);
}

void check_types(clang::ASTContext& context, const KernelSpec& spec) {
  std::set<std::string> declared;
  for (const clang::VarDecl* parameter : find_declarations(context).parameters) {
    const std::string name = parameter->getNameAsString();
    declared.insert(name);
    const auto found = spec.parameters.find(name);
    if (found == spec.parameters.end())
      throw Error(
          ErrorCode::invalid_plan,
          fmt::format("parameter {} of template {} is not set; the kernel spec must set every parameter.",
                      name, spec.family));
    const std::string expected = kind_of(parameter->getType()), given = kind_of(found->second);
    if (expected != given)
      throw Error(ErrorCode::invalid_plan, fmt::format("parameter {} of template {} is a {}, not a {}.", name,
                                                       spec.family, expected, given));
  }
  for (const auto& [name, value] : spec.parameters)
    if (!declared.count(name))
      throw Error(ErrorCode::invalid_plan,
                  fmt::format("parameter {} is unknown to template {}, which has {}.", name, spec.family,
                              fmt::join(declared, ", ")));
}

void check_dimensions(clang::ASTContext& context, const KernelSpec& spec) {
  for (const clang::VarDecl* parameter : find_declarations(context).parameters) {
    const std::string name = parameter->getNameAsString();
    const auto* table = std::get_if<FloatTable>(&spec.parameters.at(name));
    if (!table) continue;
    const std::vector<int> expected = dimensions_of(parameter->getType());
    if (expected != table->dimensions)
      throw Error(ErrorCode::invalid_plan,
                  fmt::format("parameter {} of template {} is float[{}], not float[{}].", name, spec.family,
                              fmt::join(expected, "]["), fmt::join(table->dimensions, "][")));
  }
}

}  // namespace cerar::generator
