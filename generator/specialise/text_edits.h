#pragma once

#include <string>
#include <vector>

namespace cerar::generator {

/// Replaces `length` bytes from `offset` on.
struct TextEdit {
  unsigned offset;
  unsigned length;
  std::string text;
};

/// Applies edits that do not overlap; their order does not matter.
std::string apply_edits(const std::string& source, std::vector<TextEdit> edits);

}  // namespace cerar::generator
