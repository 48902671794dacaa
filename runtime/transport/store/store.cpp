#include "runtime/transport/store/store.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/base/error.h"
#include "runtime/transport/store/file_store.h"
#include "runtime/transport/store/tcp_store.h"

namespace cerar::runtime {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the store is '{}' but must be file:DIRECTORY or tcp:HOST:PORT.", text));
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& text, int rank) {
  if (text.starts_with("file:") && text.size() > 5) return make_file_store(text.substr(5));
  if (!text.starts_with("tcp:")) refuse(text);
  const auto colon = text.rfind(':');
  if (colon < 5) refuse(text);
  const std::string host = text.substr(4, colon - 4), digits = text.substr(colon + 1);
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535) refuse(text);
  return rank == 0 ? serve_tcp_store(host, port) : join_tcp_store(host, port);
}

}  // namespace cerar::runtime
