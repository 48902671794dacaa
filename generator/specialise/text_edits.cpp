#include "generator/specialise/text_edits.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace cerar::generator {

std::string apply_edits(const std::string& source, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  std::string result;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    if (edit.offset < at || edit.offset + edit.length > source.size())
      throw Error(ErrorCode::internal,
                  "two edits of a template overlap at byte " + std::to_string(edit.offset) + ".");
    result.append(source, at, edit.offset - at).append(edit.text);
    at = edit.offset + edit.length;
  }
  return result.append(source, at);
}

}  // namespace cerar::generator
