#include "generator/catalog/template_catalog.h"

#include <string>

#include "runtime/base/error.h"

namespace cerar::generator {

// template_catalog() itself is generated from templates/ at build time, see embed_templates.cmake.

std::string_view template_text(std::string_view path) {
  for (const TemplateFile& file : template_catalog())
    if (file.path == path) return file.text;
  throw Error(ErrorCode::internal, "the template catalog does not hold " + std::string(path) + ".");
}

}  // namespace cerar::generator
