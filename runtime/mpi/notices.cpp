#include "runtime/mpi/notices.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "runtime/mpi/mpi_call.h"

namespace cerar::runtime {

MpiNotices::MpiNotices(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {
  mpi_call("MPI_Comm_rank", MPI_Comm_rank, comm_, &rank_);
  mpi_call("MPI_Comm_size", MPI_Comm_size, comm_, &size_);
}

MpiNotices::~MpiNotices() {
  const auto turn = mpi_turn();
  for (auto notice = outgoing_.begin(); notice != outgoing_.end();) {
    int sent = 0;
    MPI_Testall(static_cast<int>(notice->requests.size()), notice->requests.data(), &sent,
                MPI_STATUSES_IGNORE);
    notice = sent ? outgoing_.erase(notice) : std::next(notice);
  }
  // MPI reads what is left when the other ranks come to take it, maybe long after this object is gone. A list
  // moves without moving its elements.
  if (!outgoing_.empty()) static_cast<void>(new std::list<Outgoing>(std::move(outgoing_)));
}

void MpiNotices::notify_all(Notice::Kind kind, std::string text) {
  text.resize(std::min(text.size(), kLongestNotice));
  // In place, because a short string's bytes would move with it.
  Outgoing& notice = outgoing_.emplace_back();
  notice.bytes = static_cast<char>(kind) + std::move(text);
  for (int step = 1; step < size_; ++step) {
    MPI_Request& request = notice.requests.emplace_back(MPI_REQUEST_NULL);
    mpi_call("MPI_Isend", MPI_Isend, static_cast<const void*>(notice.bytes.data()),
             static_cast<int>(notice.bytes.size()), MPI_BYTE, (rank_ + step) % size_, tag_, comm_, &request);
  }
}

void MpiNotices::take(Failures& failures) {
  for (;;) {
    int there = 0;
    MPI_Status status;
    mpi_call("MPI_Iprobe", MPI_Iprobe, MPI_ANY_SOURCE, tag_, comm_, &there, &status);
    if (!there) return;
    int length = 0;
    mpi_call("MPI_Get_count", MPI_Get_count, &status, MPI_BYTE, &length);
    std::string bytes(static_cast<std::size_t>(length), '\0');
    // Only this thread uses the communicator, so the message that was seen is the one received.
    mpi_call("MPI_Recv", MPI_Recv, static_cast<void*>(bytes.data()), length, MPI_BYTE, status.MPI_SOURCE,
             tag_, comm_, MPI_STATUS_IGNORE);
    if (!bytes.empty())
      failures.take({static_cast<Notice::Kind>(bytes[0]), status.MPI_SOURCE, bytes.substr(1)});
  }
}

namespace {

enum class Fate { waits, freed, kept };

Fate try_to_free(Departed& departed) {
  departed.notices->take(*departed.failures);
  if (departed.failures->failed()) {
    static_cast<void>(departed.notices.release());
    return Fate::kept;
  }
  if (!departed.failures->all_left()) return Fate::waits;
  departed.notices.reset();
  mpi_call("MPI_Comm_free", MPI_Comm_free, &departed.comm);
  return Fate::freed;
}

// Never destroyed: MPI may be finalised when the process ends.
struct Waiting {
  std::mutex mutex;
  std::list<Departed> communicators;
};
Waiting& waiting() {
  static auto& all = *new Waiting;
  return all;
}

}  // namespace

void depart(Departed departed, std::chrono::milliseconds timeout) {
  departed.notices->notify_all(Notice::Kind::leaving, {});
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (Pause pause; std::chrono::steady_clock::now() < deadline; pause())
    if (try_to_free(departed) != Fate::waits) return;
  const std::lock_guard lock(waiting().mutex);
  waiting().communicators.push_back(std::move(departed));
}

void free_departed() {
  const std::lock_guard lock(waiting().mutex);
  std::erase_if(waiting().communicators, [](Departed& one) { return try_to_free(one) != Fate::waits; });
}

}  // namespace cerar::runtime
