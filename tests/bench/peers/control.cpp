#include "tests/bench/peers/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "runtime/base/error.h"

namespace cerar::bench {

Control::Control(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw Error(ErrorCode::system,
                fmt::format("{} is too long for a socket; choose a shorter TMPDIR.", path));
  path.copy(address.sun_path, path.size());
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw Error(ErrorCode::system, fmt::format("nobody listens at {}; peers.py starts the workers.", path));
}

Control::~Control() {
  if (socket_ >= 0) ::close(socket_);
}

bool Control::read_line(std::string& line) {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return true;
    }
    std::array<char, 4096> block;
    const ssize_t count = ::read(socket_, block.data(), block.size());
    if (count <= 0) return false;
    received_.append(block.data(), static_cast<std::size_t>(count));
  }
}

void Control::write_line(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count <= 0) throw Error(ErrorCode::system, "the orchestrator has hung up; see what peers.py says.");
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace cerar::bench
