#include "runtime/api/comm_use.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <unordered_set>

namespace cerar::runtime {
namespace {

// The communicators of this process. Nothing waits for long while the mutex is held, so a fork may: the child
// finds the table whole, and in it who made what.
struct Table {
  std::mutex mutex;  // guards what follows, and the Uses of every communicator
  std::condition_variable changed;
  std::unordered_set<cerarComm*> comms;
};

Table& table() {
  static auto& made = *new Table;  // for calls while the process ends
  static const int registered =
      pthread_atfork([] { made.mutex.lock(); }, [] { made.mutex.unlock(); },
                     [] {
                       new (&made.changed) std::condition_variable;  // its waiters are the parent's
                       made.mutex.unlock();
                     });
  static_cast<void>(registered);
  return made;
}

[[noreturn]] void refuse(cerarComm_t comm, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("communicator {} {}.", static_cast<const void*>(comm), why));
}

// The table's mutex is held.
Uses& uses_of(cerarComm_t comm) {
  if (!table().comms.contains(comm))
    refuse(comm, "is not a communicator of this process: it was destroyed, or never made");
  Uses& uses = comm->uses;
  if (uses.process != ::getpid())
    refuse(comm, fmt::format("was made by process {} and this is process {}, forked from it; make one here",
                             uses.process, ::getpid()));
  if (uses.ending) refuse(comm, "is being destroyed by another thread");
  return uses;
}

// The call's last act: what an abort in the meantime has left to it. The table's mutex is held.
void leave_call(cerarComm& comm, std::unique_lock<std::mutex>& lock) {
  Uses& uses = comm.uses;
  if (uses.aborted && !uses.abort_announced) {
    uses.abort_announced = true;
    lock.unlock();
    comm.executor->announce_abort();
    lock.lock();
  }
  uses.busy = false;
  uses.user = {};
  table().changed.notify_all();
}

void end_calls(cerarComm& comm, const char* act) {
  comm.executor->interrupt(act);
  std::unique_lock lock(table().mutex);
  comm.uses.aborted = true;
  if (comm.uses.busy) return;  // its thread tells the other ranks
  comm.uses.busy = true;
  leave_call(comm, lock);
}

}  // namespace

Uses::Uses() : process(::getpid()) {}

void enter(cerarComm* comm) {
  const std::lock_guard lock(table().mutex);
  table().comms.insert(comm);
}

void leave(cerarComm* comm) noexcept {
  const std::lock_guard lock(table().mutex);
  table().comms.erase(comm);
}

CommUse::CommUse(cerarComm_t comm, Kind kind) : comm_(comm), kind_(kind) {
  require(comm, "comm");
  const std::lock_guard lock(table().mutex);
  Uses& uses = uses_of(comm);
  if (kind == Kind::observe) {
    ++uses.observers;
    return;
  }
  if (uses.busy && uses.aborted)  // by the call under way, or by who aborts
    throw Error(ErrorCode::aborted,
                fmt::format("communicator {} was aborted; destroy it.", static_cast<const void*>(comm)));
  if (uses.busy) refuse(comm, "is in use by another thread; one thread at a time may call");
  uses.busy = true;
  uses.user = std::this_thread::get_id();
}

CommUse::~CommUse() {
  std::unique_lock lock(table().mutex);
  if (kind_ == Kind::call) {
    leave_call(*comm_, lock);
  } else {
    --comm_->uses.observers;
    table().changed.notify_all();
  }
}

void abort_calls(cerarComm_t comm) {
  const CommUse use(comm, CommUse::Kind::observe);
  end_calls(*comm, "aborted its communicator (cerarCommAbort)");
}

void destroy(cerarComm_t comm) {
  if (!comm) return;
  {
    std::unique_lock lock(table().mutex);
    Uses& uses = uses_of(comm);
    if (uses.busy && uses.user == std::this_thread::get_id())
      refuse(comm, "cannot be destroyed from within a call of it");
    uses.ending = true;
    if (uses.busy) {
      lock.unlock();
      end_calls(*comm, "destroyed its communicator during a call");
      lock.lock();
    }
    table().changed.wait(lock, [&] { return !uses.busy && uses.observers == 0; });
  }
  delete comm;
}

}  // namespace cerar::runtime
