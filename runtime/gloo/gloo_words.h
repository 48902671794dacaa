#pragma once

#include <string>

namespace cerar::runtime {

/// What an exception of Gloo says, without the place in Gloo's source with which its texts begin.
inline std::string gloo_words(const std::string& text) {
  const auto end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace cerar::runtime
