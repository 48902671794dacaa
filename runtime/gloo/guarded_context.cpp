#include "runtime/gloo/guarded_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "runtime/gloo/meeting/socket.h"
#include "runtime/gloo/place.h"

namespace cerar::runtime {
namespace {

namespace tcp = gloo::transport::tcp;

#if defined(__x86_64__) && defined(__GLIBCXX__)
// What the library's own Context::createPair asks for, which no installed header tells.
static_assert(sizeof(tcp::Pair) == 896);
#endif

constexpr std::size_t kStrangers = 8;  // that one port listens to
constexpr int kWaiting = 64;           // that the system keeps, strangers among them, until a rank looks
constexpr int kLook_ms = 20;           // for a pair that another thread has closed

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// A connection that has not said the word yet.
struct Stranger {
  Descriptor socket;
  std::string said;

  /// Reads no further than the word's end: what follows is Gloo's.
  enum class Answer { waits, wrong, right };
  Answer listen(const std::string& word) {
    std::array<char, 64> block;
    const ssize_t got = ::recv(socket.get(), block.data(), word.size() - said.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Answer::waits : Answer::wrong;
    said.append(block.data(), static_cast<std::size_t>(got));
    if (got == 0 || !word.starts_with(said)) return Answer::wrong;
    return said.size() == word.size() ? Answer::right : Answer::waits;
  }
};

class GuardedPair final : public tcp::Pair {
 public:
  /// While Gloo's thread is held: this takes the port out of its sight.
  GuardedPair(tcp::Context* context, tcp::Device* device, int rank, std::chrono::milliseconds timeout,
              std::string word)
      : tcp::Pair(context, device, rank, timeout), word_(std::move(word)) {
    keep_from_children();
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
    ::listen(fd_, kWaiting);
    device_->registerDescriptor(fd_, 0, this);
  }

  void connect(const std::vector<char>& bytes) override {
    const tcp::Address theirs(bytes);
    if (!is_reached_by(theirs)) {
      tcp::Pair::connect(bytes);
      const std::lock_guard lock(m_);
      if (state_ != CONNECTED) throwIfException();
      if (::send(fd_, word_.data(), word_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(word_.size()))
        fail("send");
      return;
    }
    await_connection();
  }

  void handleEvents(int events) override {
    try {
      tcp::Pair::handleEvents(events);
    } catch (const std::exception&) {
      end_by(std::current_exception());
    }
  }

  int descriptor() {
    const std::lock_guard lock(m_);
    return fd_;
  }

 protected:
  void changeState(state next) noexcept override {
    keep_from_children();
    tcp::Pair::changeState(next);
  }

 private:
  void keep_from_children() const noexcept {
    if (fd_ >= 0) ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }

  bool is_reached_by(const tcp::Address& theirs) const {
    const auto end = [](const tcp::Address& address) {
      Endpoint endpoint;
      endpoint.storage = address.getSockaddr();
      return endpoint;
    };
    const Endpoint mine = end(self_), other = end(theirs);
    // Gloo refuses other families.
    return mine.storage.ss_family == other.storage.ss_family && connects(other, mine);
  }

  void await_connection() {
    std::vector<Stranger> strangers;
    for (;;) {
      std::vector<pollfd> watched{{descriptor(), POLLIN, 0}};
      for (const Stranger& stranger : strangers) watched.push_back({stranger.socket.get(), POLLIN, 0});
      ::poll(watched.data(), watched.size(), kLook_ms);
      accept_stranger(strangers);
      for (auto stranger = strangers.begin(); stranger != strangers.end();) {
        const auto answer = stranger->listen(word_);
        if (answer == Stranger::Answer::right) return take(std::move(stranger->socket));
        stranger = answer == Stranger::Answer::wrong ? strangers.erase(stranger) : stranger + 1;
      }
    }
  }

  void accept_stranger(std::vector<Stranger>& strangers) {
    const std::lock_guard lock(m_);
    throwIfException();
    if (state_ != LISTENING) throw std::runtime_error("it was called off");
    Descriptor socket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool exhausted = !socket && (errno == EMFILE || errno == ENFILE);
    if (exhausted && strangers.empty()) fail("accept");
    if (exhausted || (socket && strangers.size() == kStrangers)) strangers.erase(strangers.begin());
    if (socket) strangers.push_back({std::move(socket), {}});
  }

  // In the place of the listening socket, which the system then takes from Gloo's thread by itself.
  void take(Descriptor socket) {
    const std::lock_guard lock(m_);
    throwIfException();
    if (state_ != LISTENING) throw std::runtime_error("it was called off");
    if (::dup3(socket.get(), fd_, O_CLOEXEC) < 0) fail("dup3");
    ::close(socket.release());
    is_client_ = false;
    device_->registerDescriptor(fd_, 0, this);
    handleConnected();
  }

  // Another thread may hold the pair and wait for this one: then the next event comes here again.
  void end_by(const std::exception_ptr& failure) noexcept {
    try {
      const std::unique_lock lock(m_, std::try_to_lock);
      if (lock && !ex_ && state_ != CLOSED) signalException(failure);
    } catch (...) {
    }
  }

  const std::string word_;
};

class GuardedContext final : public tcp::Context {
 public:
  GuardedContext(std::shared_ptr<tcp::Device> device, int rank, int ranks, std::string word)
      : tcp::Context(std::move(device), rank, ranks), word_(std::move(word)) {}

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    auto& pair = pairs_[static_cast<std::size_t>(rank)];
    pair = std::make_unique<GuardedPair>(this, device_.get(), rank, getTimeout(), word_);
    return pair;
  }

 private:
  const std::string word_;
};

/// The descriptor of the thread that has this handler: the system says what each epoll descriptor watches.
void keep_epoll_from_children(const tcp::Handler* handler) {
  const std::string data = fmt::format("{:x}", reinterpret_cast<std::uintptr_t>(handler));
  std::error_code unknown;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fdinfo", unknown);
       !unknown && entry != std::filesystem::directory_iterator(); entry.increment(unknown)) {
    std::ifstream lines(entry->path());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("tfd:")) continue;
      const auto at = line.find("data:");
      const auto begin = at == std::string::npos ? at : line.find_first_not_of(' ', at + 5);
      if (begin == std::string::npos || line.substr(begin, line.find(' ', begin) - begin) != data) continue;
      ::fcntl(std::atoi(entry->path().filename().c_str()), F_SETFD, FD_CLOEXEC);
      return;
    }
  }
}

}  // namespace

std::shared_ptr<gloo::transport::Context> make_guarded_context(
    const std::shared_ptr<gloo::transport::Device>& device, int rank, int ranks, const std::string& word) {
  return std::make_shared<GuardedContext>(std::dynamic_pointer_cast<tcp::Device>(device), rank, ranks, word);
}

int descriptor_of(gloo::transport::Pair& pair) { return dynamic_cast<GuardedPair&>(pair).descriptor(); }

// A descriptor that is always readable, whose handler returns late.
class GlooHeld::Gate final : public tcp::Handler {
 public:
  explicit Gate(tcp::Device& device) : device_(device), always_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!always_) fail("eventfd");
    device_.registerDescriptor(always_.get(), EPOLLIN, this);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
    keep_epoll_from_children(this);
  }
  ~Gate() override {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
    try {
      device_.unregisterDescriptor(always_.get(), this);
    } catch (const std::exception&) {  // it is closed below
    }
  }

  void handleEvents(int) override {
    std::unique_lock lock(mutex_);
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  tcp::Device& device_;
  const Descriptor always_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool held_ = false, open_ = false;
};

GlooHeld::GlooHeld(gloo::transport::Device& device)
    : gate_(std::make_unique<Gate>(dynamic_cast<tcp::Device&>(device))) {}

GlooHeld::~GlooHeld() = default;

}  // namespace cerar::runtime
