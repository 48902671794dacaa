#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace clang {
class ASTContext;
}

namespace cerar::generator {

/// Skipping function bodies saves most of the time where declarations alone matter.
enum class Bodies { parse, skip };

/// Parses `source` under the name "templates/<family>.cu" as CUDA C++17 for the device and hands the whole
/// translation unit to `visit`. Includes resolve to the template catalog and to nothing else: the file system
/// is never looked at, so the result depends on the arguments alone.
/// Throws `invalid_plan` with Clang's first error where the source does not compile (a static_assert of the
/// template is how it refuses a parameter).
void parse_template(std::string_view family, const std::string& source, Bodies bodies,
                    const std::function<void(clang::ASTContext&)>& visit);

}  // namespace cerar::generator
