#include "runtime/mpi/notices.h"

#include <algorithm>
#include <iterator>
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

void MpiNotices::tell_all(Notice::Kind kind, std::string text) {
  told_ = true;
  text.resize(std::min(text.size(), kLongest));
  // In place, because a short string's bytes would move with it.
  Outgoing& notice = outgoing_.emplace_back();
  notice.bytes = static_cast<char>(kind) + std::move(text);
  for (int step = 1; step < size_; ++step) {
    MPI_Request& request = notice.requests.emplace_back(MPI_REQUEST_NULL);
    mpi_call("MPI_Isend", MPI_Isend, static_cast<const void*>(notice.bytes.data()),
             static_cast<int>(notice.bytes.size()), MPI_BYTE, (rank_ + step) % size_, tag_, comm_, &request);
  }
}

std::optional<Notice> MpiNotices::next() {
  int there = 0;
  MPI_Status status;
  mpi_call("MPI_Iprobe", MPI_Iprobe, MPI_ANY_SOURCE, tag_, comm_, &there, &status);
  if (!there) return std::nullopt;
  int length = 0;
  mpi_call("MPI_Get_count", MPI_Get_count, &status, MPI_BYTE, &length);
  std::string bytes(static_cast<std::size_t>(length), '\0');
  // Only this thread uses the communicator, so the message that was seen is the one received.
  mpi_call("MPI_Recv", MPI_Recv, static_cast<void*>(bytes.data()), length, MPI_BYTE, status.MPI_SOURCE, tag_,
           comm_, MPI_STATUS_IGNORE);
  if (bytes.empty()) return std::nullopt;
  return Notice{static_cast<Notice::Kind>(bytes[0]), status.MPI_SOURCE, bytes.substr(1)};
}

}  // namespace cerar::runtime
