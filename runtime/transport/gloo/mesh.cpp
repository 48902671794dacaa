#include "runtime/transport/gloo/mesh.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/base/error.h"
#include "runtime/base/signals.h"
#include "runtime/transport/store/poll.h"

namespace cerar::runtime {
namespace {

/// What Gloo's ranks tell each other to connect, under the meeting's id.
class MeetingStore final : public gloo::rendezvous::Store {
 public:
  MeetingStore(cerar::runtime::Store& store, std::string id, std::chrono::milliseconds timeout)
      : store_(store), id_(std::move(id)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& bytes) override {
    written_.push_back(full(key));
    store_.set(written_.back(), {bytes.data(), bytes.size()});
  }

  std::vector<char> get(const std::string& key) override {
    wait({key}, timeout_);
    const auto bytes = store_.get(full(key)).value_or("");
    return {bytes.begin(), bytes.end()};
  }

  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }

  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const auto& key : keys)
      if (!poll_until(std::chrono::steady_clock::now() + timeout,
                      [&] { return store_.get(full(key)).has_value(); }))
        throw Error(
            ErrorCode::timeout,
            fmt::format("a rank that had come to the store {} did not say within {} ms where it can be "
                        "reached; start the job again.",
                        store_.name(), timeout.count()));
  }

  void clean_up() {
    for (const auto& key : written_) store_.remove(key);
  }

 private:
  std::string full(const std::string& key) const {
    std::string name = id_ + "." + key;
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-' && c != '_'; }, '_');
    return name;
  }

  cerar::runtime::Store& store_;
  std::string id_;
  std::chrono::milliseconds timeout_;
  std::vector<std::string> written_;
};

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

// Gloo does not look at what the resolver says.
std::string address_of_this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  addrinfo* found = nullptr;
  if (const int failure = ::getaddrinfo(name.data(), nullptr, nullptr, &found); failure != 0)
    throw Error(
        ErrorCode::system,
        fmt::format("this host's name '{}' has no address ({}); name the interface that reaches the other "
                    "ranks, as in eth0.",
                    name.data(), ::gai_strerror(failure)));
  ::freeaddrinfo(found);
  return name.data();
}

gloo::transport::tcp::attr attributes(const GlooOptions& options, Store& store, const Meeting& meeting) {
  gloo::transport::tcp::attr attributes;
  if (!options.interface_name.empty())
    (is_address(options.interface_name) ? attributes.hostname : attributes.iface) = options.interface_name;
  else if (const auto address = store.local_address())
    attributes.hostname = *address;
  else
    attributes.hostname = meeting.one_machine ? "127.0.0.1" : address_of_this_host();
  return attributes;
}

std::shared_ptr<gloo::transport::Device> make_device(const gloo::transport::tcp::attr& attributes) {
  try {
    return gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception&) {  // its text names a line of Gloo's source
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the interface is '{}' but this machine has no such interface or address; ip address "
                    "lists those that it has.",
                    attributes.iface.empty() ? attributes.hostname : attributes.iface));
  }
}

}  // namespace

Connection connect_mesh(const GlooOptions& options, Store& store, const Meeting& meeting) {
  const SignalsBlocked for_the_device_thread;
  auto device = make_device(attributes(options, store, meeting));
  auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.ranks);
  context->setTimeout(options.meeting_timeout);
  std::unique_ptr<Ring> ring;
  const auto keys = std::make_shared<MeetingStore>(store, meeting.id, options.meeting_timeout);
  try {
    context->connectFullMesh(*keys, device);
    ring = std::make_unique<Ring>(*device, *keys, options.rank, options.ranks, options.timeout);
  } catch (const Error&) {
    keys->clean_up();
    throw;
  } catch (const std::exception& error) {
    keys->clean_up();
    throw Error(
        ErrorCode::peer_failed,
        fmt::format("rank {} met all ranks in the store {} but cannot connect to one of them: {}; look "
                    "whether it still runs and whether the interface reaches it.",
                    options.rank, store.name(), error.what()));
  }
  return {context, std::move(ring), [keys] { keys->clean_up(); }};
}

}  // namespace cerar::runtime
