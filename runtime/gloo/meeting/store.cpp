#include "runtime/gloo/meeting/store.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the store is '{}'{}; it must be file:DIRECTORY or tcp:HOST:PORT.", text, why));
}

std::string directory_of(const std::string& text) {
  std::string directory = text.substr(5);
  if (directory.starts_with("//") && !directory.starts_with("///"))
    refuse(text, ", which names a host in a file: URL");
  if (directory.empty()) refuse(text, " without a directory");
  return directory;
}

HostAndPort host_and_port_of(const std::string& text) {
  std::string rest = text.substr(4);
  if (rest.starts_with("//")) {
    rest.erase(0, 2);
    if (rest.ends_with('/')) rest.pop_back();
  }
  const auto colon = rest.rfind(':');
  const bool brackets = rest.starts_with('[');
  if (colon == std::string::npos || (brackets && (colon < 2 || rest[colon - 1] != ']')))
    refuse(text, " without a port");
  std::string host = rest.substr(0, colon);
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty()) refuse(text, " without a host");
  if (!brackets && host.find(':') != std::string::npos)
    refuse(text, ", where an IPv6 address needs brackets, as in tcp:[::1]:29500");
  if (host.find_first_of("/[]@ ") != std::string::npos)
    refuse(text, fmt::format(", where '{}' is no host", host));
  const std::string digits = rest.substr(colon + 1);
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    refuse(text, fmt::format(", where '{}' is no port", digits));
  if (error != std::errc() || port < 1 || port > 65535)
    refuse(text, fmt::format(", where port {} does not lie in 1..65535", digits));
  return {text, host, port};
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& text, int rank, int ranks, const Deadline& deadline) {
  if (text.starts_with("file:")) return make_file_store(directory_of(text), rank, ranks);
  if (!text.starts_with("tcp:")) refuse(text, "");
  const HostAndPort place = host_and_port_of(text);
  return rank == 0 ? serve_tcp_store(place, ranks, deadline) : join_tcp_store(place, rank, ranks);
}

std::string did_not_come(const std::string& ranks, const std::string& store, const Deadline& deadline,
                         const std::string& detail) {
  return with_timeout_advice(
      fmt::format("rank(s) {} did not come to the store {} within {} ms{}; start them with the same store "
                  "and number of ranks.",
                  ranks, store, deadline.limit().count(), detail));
}

std::string fresh_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string this_machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code unknown;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", unknown);
  return boot + network.string();
}

}  // namespace cerar::runtime
