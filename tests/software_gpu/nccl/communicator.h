#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>

#include "tests/software_gpu/software_nccl.h"
#include "tests/software_gpu/streams/stream.h"

namespace software_nccl {

using namespace cerar::runtime;

struct Communicator;

/// What a rank sends: it stays until the receiver has copied it.
struct Sent {
  const Communicator* owner;
  const void* from;
  std::size_t count;
  NcclType type;
  bool taken = false;
};

struct Task {
  enum Kind { send, receive, all_gather, all_reduce } kind;
  const void* from;
  void* to;
  std::size_t count;
  NcclType type;
  int peer;                 ///< of send and receive
  NcclReduction reduction;  ///< of all_reduce
};

/// A collective operation on its way: what every rank has brought.
struct Meeting {
  std::map<int, Task> tasks;
  bool done = false;
  int left = 0;
};

/// One split of a communicator on its way.
struct Split {
  struct Share {
    int color, key;
    std::shared_ptr<Communicator> child;   ///< null for kNoColor
    std::shared_ptr<Communicator> parent;  ///< that does not block, else null
    NcclComm handle;                       ///< the child's
    NcclComm* target;  ///< where a parent that does not block writes it, when all have come
  };
  std::map<int, Share> shares;  ///< by the parent's rank
};

/// All ranks of a communicator together.
struct Clique {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::map<int, std::shared_ptr<Communicator>> gathering;                     ///< until all ranks have come
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Sent>>> channels;  ///< by sender and receiver
  std::map<long long, Meeting> meetings;
  std::map<long long, Split> splits;
};

/// A rank's communicator.
struct Communicator {
  int device = 0;
  bool blocking = true;
  std::atomic<bool> aborted{false};
  std::shared_ptr<software_gpu::Order> order = std::make_shared<software_gpu::Order>();

  // Set once, under ready_mutex, before `state` says success.
  std::shared_ptr<Clique> clique;
  int rank = 0, ranks = 0;

  mutable std::mutex ready_mutex;
  mutable std::condition_variable ready_changed;
  NcclResult state = kNcclInProgress;  ///< of initialisation
  bool splitting = false;              ///< without blocking, and not all ranks have come

  long long collectives = 0;  ///< that have run; guarded by the clique's mutex
  long long splits = 0;       ///< called; guarded by the clique's mutex

  /// What a communicator that does not block still has to give to its streams: at the next poll but one.
  std::function<NcclResult()> deferred;
  int polls = 0;

  NcclResult initialised() const {
    const std::lock_guard hold(ready_mutex);
    return state;
  }
  void set_state(NcclResult now) {
    const std::lock_guard hold(ready_mutex);
    state = now;
    ready_changed.notify_all();
  }
  NcclResult wait_initialised() const {
    std::unique_lock hold(ready_mutex);
    ready_changed.wait(hold, [&] { return state != kNcclInProgress; });
    return state;
  }
};

// The registry: communicators by their handles, and those that wait for ranks by their unique ids.

NcclComm add(std::shared_ptr<Communicator> communicator);
/// Null after ncclCommDestroy and ncclCommAbort.
std::shared_ptr<Communicator> find(const NcclCommTag* handle);
void remove(const NcclCommTag* handle);
long long count_communicators();
/// Aborts all, and forgets ranks that wait for others.
void forget_communicators();

/// Joins the ranks that have come to this id. When the last one comes, all are ready, or have failed because
/// two of them are on one device.
NcclResult arrive(const NcclUniqueId& id, const std::shared_ptr<Communicator>& communicator);
/// Brings a rank's share of a split; the last one forms all children.
void split(const std::shared_ptr<Communicator>& parent, Split::Share share);
constexpr int kNoColor = -1;

/// Ends what this rank is blocked in, and whatever it offered to others.
void abort(Communicator& communicator);

// What communicators run.

std::size_t bytes_of(NcclType type);  // 0: unknown
/// A group's operations of one communicator, in a stream's thread: returns when all have ended or the
/// communicator has been aborted.
CuResult run(Communicator& communicator, const std::vector<Task>& tasks);
/// Work of which the device had another communicator's under way when it began.
long long overlaps();
void forget_overlaps();
/// out = sum or mean over all ranks, added in order of ranks in f32 and rounded once.
void reduce(const Meeting& meeting);

}  // namespace software_nccl
