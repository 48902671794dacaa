#pragma once

#include <string_view>
#include <vector>

namespace cerar::generator {

struct TemplateFile {
  std::string_view path;  ///< as in an #include: "templates/plain.cu"
  std::string_view text;
};

/// The files under templates/ as they were when this library was built; ordered by path.
const std::vector<TemplateFile>& template_catalog();

/// Text of one file. Throws `internal` for a path that is not in the catalog.
std::string_view template_text(std::string_view path);

}  // namespace cerar::generator
