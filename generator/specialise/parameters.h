#pragma once

#include <string>

#include "generator/specialise/specialise.h"

namespace clang {
class ASTContext;
}

namespace cerar::generator {

/// C++ text of a parameter's value: floats in hexadecimal, so that they survive bit for bit; tables as nested
/// braces. `name` is for errors. Throws `invalid_plan` for numbers that are not finite and tables of the
/// wrong size.
std::string value_text(const std::string& name, const Value& value);

/// For the header comment of generated source: "true", "32", "0x1.8p+0f", "float[8][3]".
std::string value_summary(const Value& value);

/// Throws `invalid_plan`, naming the parameter, unless `spec` sets exactly the parameters that the template
/// declares with values of their types.
void check_types(clang::ASTContext& context, const KernelSpec& spec);

/// The same for the dimensions of tables, which the template computes from other parameters.
void check_dimensions(clang::ASTContext& context, const KernelSpec& spec);

}  // namespace cerar::generator
