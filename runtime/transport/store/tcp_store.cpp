#include "runtime/transport/store/tcp_store.h"

#include <fmt/format.h>
#include <httplib.h>

#include <csignal>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/signals.h"

namespace cerar::runtime {
namespace {

constexpr auto kBytes = "application/octet-stream";
constexpr std::size_t kLargestValue = 1 << 20;
constexpr std::size_t kServerThreads = 2;

std::string store_name(const std::string& host, int port) { return fmt::format("tcp:{}:{}", host, port); }

class Client {
 public:
  Client(const std::string& host, int port) : client_(host, port) {
    client_.set_connection_timeout(std::chrono::seconds(1));
    client_.set_read_timeout(std::chrono::seconds(2));
    client_.set_write_timeout(std::chrono::seconds(2));
  }

  bool put(const std::string& key, std::string_view bytes) {
    return good(client_.Put(path(key), bytes.data(), bytes.size(), kBytes));
  }
  std::optional<std::string> get(const std::string& key) { return text(client_.Get(path(key))); }
  void remove(const std::string& key) { client_.Delete(path(key)); }
  std::optional<std::string> local_address() { return text(client_.Get("/address")); }

 private:
  static std::string path(const std::string& key) { return "/keys/" + key; }
  static bool good(const httplib::Result& result) { return result && result->status == 200; }
  static std::optional<std::string> text(const httplib::Result& result) {
    return good(result) ? std::optional(result->body) : std::nullopt;
  }

  const PipeSignalSwallowed no_signal_{};
  httplib::Client client_;
};

class JoinedStore final : public Store {
 public:
  JoinedStore(std::string host, int port) : host_(std::move(host)), port_(port) {}

  std::string name() const override { return store_name(host_, port_); }
  bool set(const std::string& key, std::string_view bytes) override {
    return Client(host_, port_).put(key, bytes);
  }
  std::optional<std::string> get(const std::string& key) override { return Client(host_, port_).get(key); }
  void remove(const std::string& key) override { Client(host_, port_).remove(key); }
  std::optional<std::string> local_address() override { return Client(host_, port_).local_address(); }

 private:
  std::string host_;
  int port_;
};

/// httplib's server ignores SIGPIPE for the whole process, which is the application's to decide; its threads
/// here block all signals instead.
class QuietServer : public httplib::Server {
 public:
  QuietServer() : QuietServer(disposition()) {}

 private:
  explicit QuietServer(const struct sigaction& before) { ::sigaction(SIGPIPE, &before, nullptr); }
  static struct sigaction disposition() {
    struct sigaction now;
    ::sigaction(SIGPIPE, nullptr, &now);
    return now;
  }
};

class ServedStore final : public Store {
 public:
  ServedStore(std::string host, int port) : host_(std::move(host)), port_(port) {
    // httplib would share the port with another server, of another job.
    server_.set_socket_options([](auto socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_.new_task_queue = [] { return new httplib::ThreadPool(kServerThreads); };
    server_.set_keep_alive_max_count(1);
    server_.set_payload_max_length(kLargestValue);
    add_routes();
    if (!server_.bind_to_port(host_, port_))
      throw Error(ErrorCode::system,
                  fmt::format("the store {} cannot be served by rank 0: the port is taken or the host is not "
                              "this machine; give rank 0's own address and a free port.",
                              name()));
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // A stop before the loop runs would be overlooked.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  ~ServedStore() override {
    server_.stop();
    thread_.join();
  }

  std::string name() const override { return store_name(host_, port_); }

  bool set(const std::string& key, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    values_.insert_or_assign(key, std::string(bytes));
    return true;
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void remove(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }
  std::optional<std::string> local_address() override { return Client(host_, port_).local_address(); }

 private:
  void add_routes() {
    const std::string key = R"(/keys/([A-Za-z0-9._-]+))";
    server_.Put(key, [this](const httplib::Request& request, httplib::Response&) {
      set(request.matches[1], request.body);
    });
    server_.Get(key, [this](const httplib::Request& request, httplib::Response& response) {
      if (const auto value = get(request.matches[1]))
        response.set_content(*value, kBytes);
      else
        response.status = 404;
    });
    server_.Delete(
        key, [this](const httplib::Request& request, httplib::Response&) { remove(request.matches[1]); });
    server_.Get("/address", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.remote_addr, kBytes);
    });
  }

  std::string host_;
  int port_;
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  QuietServer server_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Store> serve_tcp_store(const std::string& host, int port) {
  return std::make_unique<ServedStore>(host, port);
}

std::unique_ptr<Store> join_tcp_store(const std::string& host, int port) {
  return std::make_unique<JoinedStore>(host, port);
}

}  // namespace cerar::runtime
