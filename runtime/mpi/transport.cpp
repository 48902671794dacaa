#include "runtime/mpi/transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/mpi/mpi_call.h"
#include "runtime/mpi/notices.h"

namespace cerar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The tags of the duplicate: lanes come last, because there is no limit to them.
constexpr int kNotice = 0, kCall = 1, kFirstLane = 2;

constexpr std::chrono::milliseconds kLeaveTimeout{100};  // most programs destroy on all ranks at a time

struct Lane {
  std::span<std::byte> buffer;
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
};

// One exchange of descriptions: every rank sends its own to every other, so that those that are missing are
// known by name. MPI may use it for as long as a request is active.
struct Exchange {
  explicit Exchange(int size) : receives(size, MPI_REQUEST_NULL), sends(size, MPI_REQUEST_NULL) {}

  bool active() const {
    const auto is_active = [](MPI_Request request) { return request != MPI_REQUEST_NULL; };
    return std::ranges::any_of(receives, is_active) || std::ranges::any_of(sends, is_active);
  }

  // Both are looked at each time: what is finished must not count as missing.
  bool done() {
    const bool received = complete(receives), sent = complete(sends);
    return received && sent;
  }

  static bool complete(std::vector<MPI_Request>& requests) {
    int count = 0;
    std::vector<int> indices(requests.size());
    mpi_call("MPI_Testsome", MPI_Testsome, static_cast<int>(requests.size()), requests.data(), &count,
             indices.data(), MPI_STATUSES_IGNORE);
    return std::ranges::all_of(requests, [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
  }

  CallDescription mine;
  std::vector<CallDescription> calls;        // [rank]
  std::vector<MPI_Request> receives, sends;  // [rank]
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm comm, std::chrono::milliseconds timeout)
      : comm_(comm), timeout_(timeout), notices_(std::make_unique<MpiNotices>(comm, kNotice)) {
    mpi_call("MPI_Comm_rank", MPI_Comm_rank, comm_, &rank_);
    mpi_call("MPI_Comm_size", MPI_Comm_size, comm_, &size_);
    // A rank says that it waits once it has waited for half of its timeout.
    failures_ = std::make_unique<Failures>(rank_, size_, timeout, timeout / 2);
    exchange_ = std::make_unique<Exchange>(size_);
    int level = MPI_THREAD_SINGLE;
    mpi_call("MPI_Query_thread", MPI_Query_thread, &level);
    any_thread_ = level == MPI_THREAD_MULTIPLE;
  }

  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized)  // MPI took back everything, and must not be called
      static_cast<void>(notices_.release());
    else
      leave();
    if (exchange_->active()) static_cast<void>(exchange_.release());
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<CallDescription> exchange(const CallDescription& mine) override {
    user_ = std::this_thread::get_id();
    failures_->throw_if_failed();
    Exchange& now = *exchange_;
    now.mine = mine;
    now.calls.assign(static_cast<std::size_t>(size_), mine);
    for (int step = 1; step < size_; ++step) {
      const int other = (rank_ + size_ - step) % size_;
      mpi_call("MPI_Irecv", MPI_Irecv, static_cast<void*>(&now.calls[at(other)]), kCallBytes, MPI_BYTE, other,
               kCall, comm_, &now.receives[at(other)]);
    }
    for (int step = 1; step < size_; ++step) {
      const int other = (rank_ + step) % size_;
      mpi_call("MPI_Isend", MPI_Isend, static_cast<const void*>(&now.mine), kCallBytes, MPI_BYTE, other,
               kCall, comm_, &now.sends[at(other)]);
    }
    wait([&] { return now.done(); },
         [&] {
           std::vector<int> missing;
           for (int other = 0; other < size_; ++other)
             if (now.receives[at(other)] != MPI_REQUEST_NULL || now.sends[at(other)] != MPI_REQUEST_NULL)
               missing.push_back(other);
           return missing;
         },
         "to call");
    return now.calls;
  }

  void post_receive(int lane, std::span<std::byte> buffer) override {
    failures_->throw_if_failed();
    Lane& at = lane_of(lane);
    at.buffer = buffer;
    mpi_call("MPI_Irecv", MPI_Irecv, static_cast<void*>(buffer.data()), checked_bytes(buffer.size()),
             MPI_BYTE, previous(), kFirstLane + lane, comm_, &at.receive);
  }

  void wait_received(int lane) override {
    Lane& at = lane_of(lane);
    if (at.receive == MPI_REQUEST_NULL) return;
    MPI_Status status;
    wait([&] { return test(at.receive, status); }, [&] { return std::vector{previous()}; },
         "to send a message");
    int bytes = 0;
    mpi_call("MPI_Get_count", MPI_Get_count, &status, MPI_BYTE, &bytes);
    if (static_cast<std::size_t>(bytes) != at.buffer.size())
      throw Error(
          ErrorCode::mismatch,
          fmt::format("rank {} sends {} bytes where rank {} expects {}; all ranks must use the same plan.",
                      previous(), bytes, rank_, at.buffer.size()));
  }

  void post_send(int lane, std::span<const std::byte> message) override {
    failures_->throw_if_failed();
    mpi_call("MPI_Isend", MPI_Isend, static_cast<const void*>(message.data()), checked_bytes(message.size()),
             MPI_BYTE, next(), kFirstLane + lane, comm_, &lane_of(lane).send);
  }

  void wait_sent(int lane) override {
    Lane& at = lane_of(lane);
    if (at.send == MPI_REQUEST_NULL) return;
    MPI_Status status;
    wait([&] { return test(at.send, status); }, [&] { return std::vector{next()}; }, "to take a message");
  }

  bool holds_buffers() const noexcept override {
    return std::ranges::any_of(lanes_, [](const Lane& lane) {
      return lane.receive != MPI_REQUEST_NULL || lane.send != MPI_REQUEST_NULL;
    });
  }

  void abort(const std::string& reason) noexcept override {
    // A thread that MPI may not know leaves it to the application's next call.
    const bool may_call = any_thread_ || user_ == std::this_thread::get_id();
    try {
      if (!failures_->failed() && may_call) notices_->take(*failures_);  // another rank may have been first
    } catch (...) {
    }
    try {
      if (failures_->fail(reason)) untold_ = reason;
    } catch (...) {
    }
    if (!may_call) return;
    notify();
    try {
      take_buffers_back();
    } catch (...) {
    }
  }

  void interrupt(const std::string& reason) noexcept override { failures_->interrupt(reason); }

 private:
  static constexpr int kCallBytes = static_cast<int>(sizeof(CallDescription));

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  int next() const { return (rank_ + 1) % size_; }

  Lane& lane_of(int lane) {
    if (at(lane) >= lanes_.size()) lanes_.resize(at(lane) + 1);
    return lanes_[at(lane)];
  }

  static int checked_bytes(std::size_t bytes) {
    if (bytes > INT_MAX)
      throw Error(ErrorCode::unsupported,
                  fmt::format("a message of {} bytes is more than MPI 3 sends at once ({}); use a plan with "
                              "smaller messages.",
                              bytes, INT_MAX));
    return static_cast<int>(bytes);
  }

  static bool test(MPI_Request& request, MPI_Status& status) {
    int done = 0;
    mpi_call("MPI_Test", MPI_Test, &request, &done, &status);
    return done != 0;
  }

  void notify() noexcept {
    try {
      if (const auto reason = std::exchange(untold_, std::nullopt))
        notices_->notify_all(Notice::Kind::failed, *reason);
    } catch (...) {  // the others find out by themselves
    }
  }

  void leave() noexcept {
    notify();
    if (failures_->failed()) return;
    try {
      depart({comm_, std::move(notices_), std::move(failures_)}, std::min(timeout_ / 8, kLeaveTimeout));
      free_departed();
    } catch (...) {  // it is not freed then
    }
  }

  // Returns when finished() holds. `awaited()` names the ranks that keep this one from it.
  template <typename Finished, typename Awaited>
  void wait(Finished finished, Awaited awaited, const char* for_what) {
    const auto done = [&] {
      try {
        return finished();
      } catch (const Error& error) {
        throw Error(ErrorCode::peer_failed, fmt::format("rank {} waited for rank(s) {} {}, but {}", rank_,
                                                        fmt::join(awaited(), ", "), for_what, error.what()));
      }
    };
    if (done()) return;
    const auto start = Clock::now();
    std::optional<Clock::time_point> gone_since;
    bool told = false;
    failures_->begin_wait();
    for (Pause pause; !done(); pause()) {
      notices_->take(*failures_);
      failures_->throw_if_failed();
      const auto waited = Clock::now() - start;
      if (!told && waited > timeout_ / 2) {
        told = true;
        notices_->notify_all(Notice::Kind::waiting, "");
      }
      if (failures_->any_left()) {
        if (const auto peer = failures_->left_of(awaited())) {
          if (!gone_since) gone_since = Clock::now();
          if (Clock::now() - *gone_since > kReasonTimeout) throw failures_->gone(*peer, {});
        }
      }
      if (waited <= timeout_) continue;
      const auto ranks = awaited();
      if (failures_->all_answered(ranks) && waited <= timeout_ + failures_->grace()) continue;
      throw failures_->late(ranks, for_what);
    }
  }

  // Receives that met no message end at once, and what a peer is in the middle of ends when it goes on. What
  // is left then are messages that nobody will take, and peers that stand still.
  void take_buffers_back() {
    std::vector<MPI_Request*> requests;
    for (Lane& lane : lanes_) requests.insert(requests.end(), {&lane.receive, &lane.send});
    for (MPI_Request& request : exchange_->receives) requests.push_back(&request);
    std::erase_if(requests, [](const MPI_Request* request) { return *request == MPI_REQUEST_NULL; });
    for (MPI_Request* request : requests) mpi_call("MPI_Cancel", MPI_Cancel, request);
    const auto most =
        failures_->interrupted() ? std::chrono::milliseconds(50) : std::chrono::milliseconds(1000);
    const auto deadline = Clock::now() + std::min(timeout_ / 8, most);
    for (Pause pause; !requests.empty() && Clock::now() < deadline; pause())
      std::erase_if(requests, [](MPI_Request* request) {
        MPI_Status status;
        return test(*request, status);
      });
  }

  MPI_Comm comm_;
  std::chrono::milliseconds timeout_;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<MpiNotices> notices_;
  std::unique_ptr<Exchange> exchange_;
  std::deque<Lane> lanes_;  // MPI keeps no pointer to a request, but wait() does
  std::unique_ptr<Failures> failures_;
  std::optional<std::string> untold_;
  bool any_thread_ = false;  // MPI may be called from
  std::thread::id user_ = std::this_thread::get_id();
};

void check_communicator(MPI_Comm comm) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("MPI is {}; make communicators between MPI_Init and MPI_Finalize.",
                            finalized ? "finalised already" : "not initialised"));
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorCode::invalid_argument,
                "mpi is MPI_COMM_NULL; this process is not in that communicator.");
  int inter = 0;
  mpi_call("MPI_Comm_test_inter", MPI_Comm_test_inter, comm, &inter);
  if (inter)
    throw Error(ErrorCode::invalid_argument,
                "mpi is an inter-communicator; pass one whose ranks are a single group.");
}

// Like MPI_Comm_dup, but within a limit.
MPI_Comm duplicate(MPI_Comm comm, std::chrono::milliseconds timeout) {
  auto copy = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_call("MPI_Comm_idup", MPI_Comm_idup, comm, copy.get(), &request);
  const auto start = Clock::now();
  Pause pause;
  for (int done = 0;; pause()) {
    mpi_call("MPI_Test", MPI_Test, &request, &done, MPI_STATUS_IGNORE);
    if (done) return *copy;
    if (Clock::now() - start <= timeout) continue;
    static_cast<void>(copy.release());  // a collective cannot be cancelled: MPI may still write there
    int ranks = 0;
    mpi_call("MPI_Comm_size", MPI_Comm_size, comm, &ranks);
    throw Error(ErrorCode::timeout,
                fmt::format("not all {} ranks of the MPI communicator asked for a communicator within {} ms.",
                            ranks, timeout.count()));
  }
}

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MPI_Comm application, const Timeouts& timeouts) {
  check_communicator(application);
  free_departed();
  const MPI_Comm comm = duplicate(application, timeouts.meeting);
  mpi_call("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler, comm, MPI_ERRORS_RETURN);
  return std::make_unique<MpiTransport>(comm, timeouts.call);
}

}  // namespace cerar::runtime
