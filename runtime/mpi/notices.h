#pragma once

#include <mpi.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/notices.h"

namespace cerar::runtime {

/// Carries notices between the ranks of a communicator, on a tag of their own. All functions throw `system`
/// when MPI fails.
class MpiNotices {
 public:
  MpiNotices(MPI_Comm comm, int tag);
  /// What MPI did not send yet keeps its memory for good.
  ~MpiNotices();
  MpiNotices(const MpiNotices&) = delete;
  MpiNotices& operator=(const MpiNotices&) = delete;

  void notify_all(Notice::Kind kind, std::string text);
  /// Hands all that came to `failures`, in the order of each sender.
  void take(Failures& failures);

 private:
  struct Outgoing {
    std::string bytes;
    std::vector<MPI_Request> requests;
  };

  MPI_Comm comm_;
  int tag_, rank_ = 0, size_ = 1;
  std::list<Outgoing> outgoing_;
};

/// A communicator that this rank uses no more, after success. What other ranks told this one may still be on
/// its way, and must not reach a communicator that gets its number: so it is freed once all others have left.
struct Departed {
  MPI_Comm comm;
  std::unique_ptr<MpiNotices> notices;
  std::unique_ptr<Failures> failures;
};

/// Tells the others that this rank leaves, waits at most `timeout` for them to leave too, and frees the
/// communicator; later with free_departed where some have not. It is kept for good where one of them failed.
void depart(Departed departed, std::chrono::milliseconds timeout);
/// Frees those that all ranks have left meanwhile.
void free_departed();

}  // namespace cerar::runtime
