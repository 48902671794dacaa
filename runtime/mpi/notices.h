#pragma once

#include <mpi.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

namespace cerar::runtime {

/// What a rank tells all others outside the order of lanes.
struct Notice {
  enum class Kind : char {
    waiting = 'w',  ///< I wait for another rank, and have for half of my limit: it is not me that is missing
    failed = 'f',   ///< I gave up; the text says why
  };
  Kind kind = Kind::waiting;
  int rank = 0;      ///< who says so
  std::string text;  ///< one sentence, at most MpiNotices::kLongest bytes
};

/// MpiNotices between the ranks of a communicator, on a tag of their own. All functions throw `system` when
/// MPI fails.
class MpiNotices {
 public:
  static constexpr std::size_t kLongest = 1000;  // below every eager limit: needs no answer to be on its way

  MpiNotices(MPI_Comm comm, int tag);
  /// What MPI did not send yet keeps its memory for good.
  ~MpiNotices();
  MpiNotices(const MpiNotices&) = delete;
  MpiNotices& operator=(const MpiNotices&) = delete;

  void tell_all(Notice::Kind kind, std::string text);
  /// The next one that came, in the order of each sender.
  std::optional<Notice> next();
  /// Whether this rank ever told anything: others may not have taken it yet.
  bool told() const { return told_; }

 private:
  struct Outgoing {
    std::string bytes;
    std::vector<MPI_Request> requests;
  };

  MPI_Comm comm_;
  int tag_, rank_ = 0, size_ = 1;
  bool told_ = false;
  std::list<Outgoing> outgoing_;
};

}  // namespace cerar::runtime
