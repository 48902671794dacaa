#include "runtime/transport/gloo/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace cerar::runtime {
namespace {

// Gloo gives the socket that sends room for the longest message so far, and what does not fit costs two
// changes of threads: so the first message is as long as Linux permits by default.
constexpr std::size_t kGreeting = 262144;

std::string key(int from, const char* end) { return fmt::format("ring.{}.{}", from, end); }

}  // namespace

Ring::Ring(gloo::transport::Device& device, gloo::rendezvous::Store& keys, int rank, int ranks,
           std::chrono::milliseconds timeout)
    : sender_(device.createContext(rank, ranks)), receiver_(device.createContext(rank, ranks)) {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  for (auto* context : {sender_.get(), receiver_.get()}) context->setTimeout(timeout);
  next_ = sender_->createPair(next).get();
  previous_ = receiver_->createPair(previous).get();
  keys.set(key(rank, "sender"), next_->address().bytes());
  keys.set(key(previous, "receiver"), previous_->address().bytes());
  const auto connect = [&](gloo::transport::Pair& pair, const std::string& peer) {
    pair.connect(keys.get(peer));  // waits for it
  };
  const auto connect_next = [&] { connect(*next_, key(rank, "receiver")); };
  const auto connect_previous = [&] { connect(*previous_, key(previous, "sender")); };
  // One end waits for the other: in the order of the sending ranks no wait closes a circle.
  if (rank < previous) {
    connect_next();
    connect_previous();
  } else {
    connect_previous();
    connect_next();
  }
  previous_->setSync(true, false);
  greet();
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
