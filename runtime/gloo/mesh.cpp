#include "runtime/gloo/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/debug_log.h"
#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/base/thread.h"
#include "runtime/gloo/guarded_context.h"
#include "runtime/gloo/interface.h"
#include "runtime/gloo/meeting/meeting_server.h"
#include "runtime/gloo/place.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kComplete = "complete";
std::string address_key(int rank) { return fmt::format("address.{}", rank); }
std::string connected_key(int rank) { return fmt::format("connected.{}", rank); }

/// Gloo's context, whose pairs are connected here, so that each failure has a rank.
class MeshContext final : public gloo::Context {
 public:
  MeshContext(std::shared_ptr<gloo::transport::Device> device,
              std::shared_ptr<gloo::transport::Context> pairs, std::chrono::milliseconds timeout)
      : gloo::Context(pairs->rank, pairs->size) {
    setTimeout(timeout);
    device_ = std::move(device);
    transportContext_ = std::move(pairs);
    transportContext_->setTimeout(timeout);
  }

  void listen() {
    for (int other = 0; other < size; ++other)
      if (other != rank) transportContext_->createPair(other);
  }
};

Offer choose_offer(const GlooOptions& options, const Store& store, const Meeting& meeting,
                   const Deadline& deadline) {
  const Host host = this_host(deadline);
  if (!options.interface_name.empty()) return named_offer(host, options.interface_name);
  if (const auto address = store.local_address())
    if (const auto endpoint = parse_address(*address, 0))
      if (meeting.one_machine || !endpoint->is_loopback()) return offer_of(host, *endpoint);
  return meeting.one_machine ? loopback_offer(host) : reachable_offer(host);
}

std::shared_ptr<gloo::transport::Device> make_device(const Offer& offer) {
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = offer.endpoint.address();
    return gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::system,
                fmt::format("the system refused a thread for connections ({}); raise the limit on processes "
                            "(ulimit -u) or free memory.",
                            error.code().message()));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::system,
                fmt::format("the system refused connections at {} ({}): {}.", offer.endpoint.address(),
                            offer.interface_name, gloo_words(error.what())));
  }
}

/// One rank's way through the connecting. A thread connects, because Gloo's functions do not return before
/// they have succeeded or failed in their own time; this one keeps the deadline, hears of others' failures,
/// and calls the thread off.
class Connecting {
 public:
  Connecting(const GlooOptions& options, Store& store, const Meeting& meeting, const Deadline& deadline)
      : options_(options),
        store_(store),
        deadline_(deadline),
        margin_(std::min<Deadline::Clock::duration>(500ms, deadline.limit() / 20)),
        offer_(choose_offer(options, store, meeting, deadline)),
        word_(meeting.id),
        one_machine_(meeting.one_machine) {}

  Connection connect() {
    make_sockets();
    tell_place();
    hear_places();
    check_places();
    log_places();
    connect_all();
    await_all_connected();
    return {context_, std::move(ring_)};
  }

 private:
  int ranks() const { return options_.ranks; }
  int rank() const { return options_.rank; }
  int next() const { return (rank() + 1) % ranks(); }
  int previous() const { return (rank() + ranks() - 1) % ranks(); }
  const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }

  // Ports of jobs that have ended are free after a minute.
  void make_sockets() {
    const SignalsBlocked for_the_device_thread;
    device_ = make_device(offer_);
    const Deadline limit = deadline_.before(2 * margin_);
    for (;; std::this_thread::sleep_for(200ms)) {
      try {
        context_ = std::make_shared<MeshContext>(device_, make_pairs(), kForeverToConnect);
        ring_ = std::make_unique<Ring>(make_pairs(), make_pairs(), options_.timeout);
        const GlooHeld held(*device_);
        context_->listen();
        ring_->listen();
        return;
      } catch (const std::exception& error) {
        if (!limit.passed() && std::string(error.what()).find(std::strerror(EADDRINUSE)) != std::string::npos)
          continue;
        throw Error(ErrorCode::system,
                    fmt::format("rank {} gets no {} ports to listen at {}: {}; check the limits of this host "
                                "(net.ipv4.ip_local_port_range, ulimit -n).",
                                rank(), ranks() + 1, offer_.endpoint.address(), gloo_words(error.what())));
      }
    }
  }

  std::shared_ptr<gloo::transport::Context> make_pairs() const {
    return make_guarded_context(device_, rank(), ranks(), word_);
  }

  void tell_place() {
    Place mine{offer_, std::vector<int>(static_cast<std::size_t>(ranks())), port_of(ring_->sender_address()),
               port_of(ring_->receiver_address())};
    for (int other = 0; other < ranks(); ++other)
      if (other != rank())
        mine.mesh[static_cast<std::size_t>(other)] = port_of(context_->getPair(other)->address().bytes());
    places_.resize(static_cast<std::size_t>(ranks()));
    places_[static_cast<std::size_t>(rank())] = mine;
    store_.set(address_key(rank()), write(mine));
  }

  void hear_places() {
    std::vector<int> missing;
    const Deadline limit = deadline_.before(margin_);
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank()) continue;
      // Whoever has told it by now is heard at once.
      const auto text =
          store_.await(address_key(other), missing.empty() ? limit : Deadline(10ms).at_most(10ms));
      const auto place = text ? parse_place(*text, ranks(), offer_.endpoint) : std::nullopt;
      if (text && !place)
        throw Error(ErrorCode::mismatch,
                    fmt::format("rank {} published an address that rank {} cannot read; run one version "
                                "of CERAR on all ranks.",
                                other, rank()));
      if (place) places_[static_cast<std::size_t>(other)] = *place;
      if (!place) missing.push_back(other);
      if (missing.size() == 8) break;
    }
    if (!missing.empty())
      fail(ErrorCode::timeout,
           fmt::format("rank(s) {} came to the store {} but did not publish their addresses "
                       "within {} ms; check that they still run",
                       fmt::join(missing, ", "), store_.name(), limit_ms()));
  }

  // Every rank sees the same, and says it.
  void check_places() const {
    for (int other = 1; other < ranks(); ++other) {
      const Endpoint &first = place(0).offer.endpoint, &theirs = place(other).offer.endpoint;
      if (first.family() != theirs.family())
        refuse(other, "an address of the other family, IPv4 and IPv6, which do not reach each other");
      if (!one_machine_ && first.is_loopback() != theirs.is_loopback())
        refuse(other, "and loopback reaches nothing but its own host");
    }
    if (!one_machine_ && place(0).offer.endpoint.is_loopback())
      refuse(1, "and the ranks run on several hosts or in several network namespaces");
  }

  std::string offer_words(int rank) const {
    const Offer& offer = place(rank).offer;
    return fmt::format("rank {} offers {} ({})", rank, offer.endpoint.address(), offer.interface_name);
  }

  void log_places() const {
    if (!debug_log_is_on()) return;
    std::vector<std::string> others;
    for (int other = 0; other < ranks(); ++other)
      if (other != rank()) others.push_back(offer_words(other));
    debug_log("Gloo: {}, met in the store {}, connects with {}", offer_words(rank()), store_.name(),
              fmt::join(others, ", "));
  }

  [[noreturn]] void refuse(int other, const char* why) const {
    throw Error(ErrorCode::mismatch,
                fmt::format("{} and {}, {}; name an interface or address that the others reach, on every "
                            "rank.",
                            offer_words(0), offer_words(other), why));
  }

  void connect_all() {
    // Those to which this rank connects come first: then whoever waits for this one waits only for what this
    // one cannot reach.
    for (const bool active : {true, false})
      for (int other = 0; other < ranks(); ++other)
        if (other != rank() && connects(own_end(other), their_end(other)) == active)
          steps_.push_back({other, active, their_end(other), [this, other] {
                              context_->getPair(other)->connect(gloo_address(their_end(other)));
                            }});
    const Endpoint to = place(next()).at(place(next()).receiver),
                   from = place(previous()).at(place(previous()).sender);
    const Step to_next{next(), connects(place(rank()).at(place(rank()).sender), to), to,
                       [this, to] { ring_->connect_next(gloo_address(to)); }};
    const Step from_previous{previous(), connects(place(rank()).at(place(rank()).receiver), from), from,
                             [this, from] { ring_->connect_previous(gloo_address(from)); }};
    steps_.push_back(to_next.active ? to_next : from_previous);
    steps_.push_back(to_next.active ? from_previous : to_next);
    steps_.push_back({previous(), false, from, [this] { ring_->greet(); }});
    std::thread thread = start_thread("that connects to other ranks", [this] { run_steps(); });
    std::exception_ptr failure;
    try {
      keep_deadline();
    } catch (...) {
      failure = std::current_exception();
      call_off();
    }
    thread.join();
    if (failure) std::rethrow_exception(failure);
  }

  Endpoint own_end(int other) const {
    return place(rank()).at(place(rank()).mesh[static_cast<std::size_t>(other)]);
  }
  Endpoint their_end(int other) const {
    return place(other).at(place(other).mesh[static_cast<std::size_t>(rank())]);
  }

  void run_steps() {
    try {
      for (std::size_t i = 0; i < steps_.size() && !called_off_; ++i) {
        step_ = i;
        steps_[i].run();
      }
    } catch (const std::exception& error) {
      error_ = gloo_words(error.what());
    }
    done_ = true;
    store_.wake();
  }

  void keep_deadline() {
    // What this rank itself cannot reach is known best, and said first.
    const Deadline active_limit = deadline_.before(2 * margin_), passive_limit = deadline_.before(margin_);
    while (!done_) {
      const Step& step = steps_[step_];
      const Deadline& limit = step.active ? active_limit : passive_limit;
      if (limit.passed()) {
        const std::string where =
            fmt::format("{} ({})", step.end.text(), place(step.other).offer.interface_name);
        if (step.active)
          fail(ErrorCode::timeout,
               fmt::format("rank {} at {} met rank {} in the store {} but cannot reach it at {} "
                           "within {} ms; check addresses, routes and firewalls, or name "
                           "another interface",
                           rank(), offer_.endpoint.address(), step.other, store_.name(), where, limit_ms()));
        fail(ErrorCode::timeout,
             fmt::format(
                 "rank {} at {} met rank {} in the store {} but was not reached by it, from {}, within "
                 "{} ms; check that it still runs, and addresses, routes and firewalls",
                 rank(), offer_.endpoint.address(), step.other, store_.name(),
                 place(step.other).offer.endpoint.address(), limit_ms()));
      }
      store_.await("", limit);
    }
    if (error_.empty()) return;
    const Step& step = steps_[step_];
    // Others may know better why.
    fail(
        ErrorCode::peer_failed,
        fmt::format("rank {} at {} met rank {} in the store {} but cannot connect to it at {} ({}): {}; look "
                    "whether it still runs, and whether the interface reaches it",
                    rank(), offer_.endpoint.address(), step.other, store_.name(), step.end.text(),
                    place(step.other).offer.interface_name, error_));
  }

  void call_off() {
    called_off_ = true;
    for (int other = 0; other < ranks(); ++other)
      if (other != rank()) context_->getPair(other)->close();
    ring_->call_off();
  }

  /// Rank 0 hears that each has its connections, and tells all.
  void await_all_connected() {
    if (rank() != 0) {
      store_.set(connected_key(rank()), "");
      if (!store_.await(kComplete, deadline_))
        fail(ErrorCode::timeout,
             fmt::format("rank 0 did not confirm in the store {} within {} ms that all ranks "
                         "are connected; check that it still runs",
                         store_.name(), limit_ms()));
      return;
    }
    for (int other = 1; other < ranks(); ++other)
      if (!store_.await(connected_key(other), deadline_))
        fail(ErrorCode::timeout, fmt::format("rank {} at {} did not connect to all ranks within {} ms; check "
                                             "its log",
                                             other, place(other).offer.endpoint.address(), limit_ms()));
    store_.set(kComplete, "");
  }

  long limit_ms() const { return static_cast<long>(deadline_.limit().count()); }

  // Ranks that wait for each other all see something; the first to say it is believed.
  [[noreturn]] void fail(ErrorCode code, const std::string& sentence) const {
    store_.await("", Deadline(100ms));
    throw Error(code, code == ErrorCode::timeout ? with_timeout_advice(sentence + ".") : sentence + ".");
  }

  struct Step {
    int other;
    bool active;  // this rank connects; else it waits to be connected to
    Endpoint end;
    std::function<void()> run;
  };

  static constexpr std::chrono::milliseconds kForeverToConnect = std::chrono::hours(20);

  const GlooOptions& options_;
  Store& store_;
  const Deadline deadline_;
  const Deadline::Clock::duration margin_;
  const Offer offer_;
  const std::string word_;  // by which ranks of this meeting know each other
  const bool one_machine_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<MeshContext> context_;
  std::unique_ptr<Ring> ring_;
  std::vector<Place> places_;  // [rank]
  std::vector<Step> steps_;
  std::atomic<std::size_t> step_ = 0;
  std::atomic<bool> done_ = false, called_off_ = false;
  std::string error_;  // once done
};

std::size_t open_descriptors() {
  std::error_code unknown;
  std::size_t count = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", unknown);
       !unknown && entry != std::filesystem::directory_iterator(); entry.increment(unknown))
    ++count;
  return count;
}

}  // namespace

void require_descriptors(const GlooOptions& options) {
  constexpr std::size_t kOthers = 24;  // of the store, Gloo, and files that are open for a moment
  const auto ranks = static_cast<std::size_t>(options.ranks);
  const bool serves = options.rank == 0 && options.store.starts_with("tcp:");
  const std::size_t needed = ranks + 3 + kOthers + (serves ? ranks + MeetingServer::kStrangers : 0);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::size_t open = open_descriptors();
  if (open + needed <= limit.rlim_cur) return;
  throw Error(ErrorCode::system,
              fmt::format("rank {} of {} needs {} file descriptors beside the {} that are open, but this "
                          "process may have {}; raise the limit to {} or more (ulimit -n).",
                          options.rank, options.ranks, needed, open, limit.rlim_cur, open + needed));
}

Connection connect_mesh(const GlooOptions& options, Store& store, const Meeting& meeting,
                        const Deadline& deadline) {
  try {
    return Connecting(options, store, meeting, deadline).connect();
  } catch (const std::exception& error) {
    store.fail(error.what());
    throw;
  }
}

}  // namespace cerar::runtime
