#include "runtime/gloo/ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/gloo/guarded_context.h"

namespace cerar::runtime {
namespace {

// Gloo gives the socket that sends room for the longest message so far, and what does not fit costs two
// changes of threads: so the first message is as long as Linux permits by default.
constexpr std::size_t kGreeting = 262144;

}  // namespace

Ring::Ring(std::shared_ptr<gloo::transport::Context> sender,
           std::shared_ptr<gloo::transport::Context> receiver, std::chrono::milliseconds timeout)
    : sender_(std::move(sender)), receiver_(std::move(receiver)) {
  for (auto* context : {sender_.get(), receiver_.get()}) context->setTimeout(timeout);
}

void Ring::listen() {
  const int rank = sender_->rank, ranks = sender_->size;
  next_ = sender_->createPair((rank + 1) % ranks).get();
  previous_ = receiver_->createPair((rank + ranks - 1) % ranks).get();
}

void Ring::connect_next(const std::vector<char>& address) { connect(*next_, address, next_socket_); }

void Ring::connect_previous(const std::vector<char>& address) {
  connect(*previous_, address, previous_socket_);
  previous_->setSync(true, false);
}

void Ring::connect(gloo::transport::Pair& pair, const std::vector<char>& address, Socket& socket) {
  pair.connect(address);
  Socket connected(pair);
  const std::lock_guard lock(mutex_);
  if (called_off_) throw std::runtime_error("it was called off");
  socket = std::move(connected);
}

Ring::Socket::Socket(gloo::transport::Pair& pair) {
  const int theirs = descriptor_of(pair);
  if (theirs < 0) return;
  number_ = ::fcntl(theirs, F_DUPFD_CLOEXEC, 0);
  if (number_ < 0)
    throw Error(ErrorCode::system, fmt::format("the system refused a descriptor for a connection ({}); raise "
                                               "the limit on open files (ulimit -n).",
                                               std::strerror(errno)));
}

Ring::Socket::~Socket() {
  if (number_ >= 0) ::close(number_);
}

void Ring::Socket::shut_down() const noexcept { ::shutdown(number_, SHUT_RDWR); }

void Ring::call_off() noexcept {
  const std::lock_guard lock(mutex_);
  called_off_ = true;
  // Gloo's own way to close a connection waits for whoever reads from it.
  const auto end = [](gloo::transport::Pair& pair, const Socket& socket) {
    if (socket)
      socket.shut_down();
    else
      pair.close();
  };
  end(*next_, next_socket_);
  end(*previous_, previous_socket_);
}

void Ring::greet() {
  std::vector<std::byte> sent(kGreeting), received(kGreeting);
  post_receive(0, received);
  post_send(0, sent);
  wait_received(0);
  wait_sent(0);
}

Ring::~Ring() {
  // Gloo's thread may be writing what is not sent yet; once it is closed by force it does not. Otherwise what
  // was sent is still on its way, and arrives.
  const auto unsent = [](const auto& lane) { return lane.second != nullptr; };
  if (std::any_of(sending_.begin(), sending_.end(), unsent)) next_->close();
}

void Ring::post_receive(int lane, std::span<std::byte> buffer) {
  receiving_[lane] = previous_->createRecvBuffer(lane, buffer.data(), buffer.size());
}

void Ring::wait_received(int lane) {
  const auto buffer = std::exchange(receiving_[lane], nullptr);
  if (buffer) buffer->waitRecv();
}

void Ring::post_send(int lane, std::span<const std::byte> message) {
  auto& buffer = sending_[lane];
  // Gloo has one kind of buffer; of one that is sent it only reads.
  buffer = next_->createSendBuffer(lane, const_cast<std::byte*>(message.data()), message.size());
  buffer->send();
}

void Ring::wait_sent(int lane) {
  auto& buffer = sending_[lane];
  if (!buffer) return;
  buffer->waitSend();
  buffer.reset();
}

}  // namespace cerar::runtime
