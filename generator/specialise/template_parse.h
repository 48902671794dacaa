#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace clang {
class ASTContext;
}

namespace cerar::generator {

struct TemplateFile {
  std::string_view path;  ///< as in an #include: "templates/plain.cu"
  std::string_view text;
};

/// The files under templates/ as they were when this library was built; ordered by path.
const std::vector<TemplateFile>& template_catalog();

/// Text of one file. Throws `internal` for a path that is not in the catalog.
std::string_view template_text(std::string_view path);

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
