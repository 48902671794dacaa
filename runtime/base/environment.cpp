#include "runtime/base/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/base/error.h"

namespace cerar {

Environment read_environment() {
  Environment environment;
  if (const char* value = std::getenv("CERAR_TIMEOUT")) {
    const std::string_view text(value);
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.001 && seconds <= 1e6))
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("CERAR_TIMEOUT is '{}' but must be a number of seconds from 0.001 to 1000000.", text));
    environment.timeouts = Timeouts::both(std::chrono::milliseconds(static_cast<long long>(seconds * 1000)));
  }
  if (const char* value = std::getenv("CERAR_NCCL_LIBRARY")) environment.nccl_library = value;
  return environment;
}

DebugEnvironment read_debug_environment() {
  DebugEnvironment environment;
  if (const char* value = std::getenv("CERAR_DEBUG")) environment.level = value;
  for (char& letter : environment.level)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  if (const char* value = std::getenv("CERAR_DEBUG_FILE")) environment.file = value;
  return environment;
}

std::string with_timeout_advice(std::string sentence) {
  if (sentence.ends_with(kTimeoutAdvice)) return sentence;
  sentence.resize(sentence.find_last_not_of('.') + 1);
  return sentence.append(kTimeoutAdvice);
}

}  // namespace cerar
