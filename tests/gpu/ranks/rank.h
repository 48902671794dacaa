#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/resources.h"
#include "tests/gpu/ranks/inputs.h"

namespace cerar::test {

/// One all-reduce to check.
struct CallCase {
  std::size_t count = 0;
  bool in_place = false;
  cerarRedOp_t op = cerarSum;
};
std::string name_of(const CallCase& call, cerarDataType_t type);

/// A vector on a device between guard zones.
class GuardedVector {
 public:
  GuardedVector(const runtime::DeviceHandle& device, std::size_t bytes, runtime::CuStream stream);
  void* data() const;
  void upload(const void* from) const;
  /// Overwrites the vector with NaNs of every type.
  void poison() const;
  /// Waits for the stream.
  std::vector<std::byte> download() const;
  bool guards_intact() const;

 private:
  runtime::DeviceBuffer memory_;
  std::size_t bytes_;
  runtime::CuStream stream_;
};

/// A rank's communicator and stream, used by the rank's thread.
class Rank {
 public:
  Rank(int rank, int device, cerarComm_t comm);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int rank() const { return rank_; }
  cerarComm_t comm() const { return comm_; }
  const runtime::DeviceHandle& device() const { return device_; }
  runtime::CuStream stream() const { return stream_.get(); }

  /// Makes the call with a poisoned output and looks at what came out: the error against the claim, guard
  /// zones, the input of a call out of place. Returns the bytes of the result; `problems` gets a sentence for
  /// each fault.
  std::vector<std::byte> call(const RankInputs& inputs, const CallCase& call,
                              std::vector<std::string>& problems) const;

  /// Captures a call on vectors of f32 into a graph and replays it twice, with different inputs.
  void replay(const RankInputs& inputs, const CallCase& call, std::vector<std::string>& problems) const;

 private:
  std::vector<std::byte> finish(const RankInputs& inputs, const CallCase& call, const GuardedVector& result,
                                double factor, std::vector<std::string>& problems) const;

  int rank_;
  cerarComm_t comm_;
  runtime::DeviceHandle device_;
  runtime::DeviceStream stream_;
};

/// Compares a result with `factor` times the exact one; a sentence for what is wrong.
std::optional<std::string> judge(const std::vector<std::byte>& result, const RankInputs& inputs,
                                 const CallCase& call, double factor, const cerarCallInfo_t& info);

}  // namespace cerar::test
