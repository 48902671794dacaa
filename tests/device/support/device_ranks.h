#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/include/cerar.h"
#include "tests/software_gpu/application.h"

namespace cerar::test {

/// How ranks on devices are connected.
enum class Link {
  nccl,     ///< by a communicator of NCCL's that the caller made
  polled,   ///< by one that does not block
  nccl_id,  ///< by one made from an id
  peers,    ///< threads of one process, a device each
  one_gpu,  ///< threads of one process on one device
};
std::string name_of(Link link);

/// Throws unless the call succeeded.
void require_driver(runtime::CuResult result, const char* what);

/// Communicators of this process on software devices, a stream each. Every rank is used by a thread of its
/// own, as in `run`.
class DeviceRanks {
 public:
  /// Throws what the C API reports.
  DeviceRanks(Link link, const std::string& plan_directory, int ranks, int timeout_ms = 10000);
  ~DeviceRanks();
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  int size() const { return static_cast<int>(comms_.size()); }
  cerarComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  runtime::CuStream stream(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }
  int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }

  /// Runs `body(rank)` on a thread per rank, its device current; throws the sentences of all
  /// that failed.
  void run(const std::function<void(int rank)>& body) const;

 private:
  void destroy();

  std::vector<int> devices_;
  std::vector<runtime::CuContext> contexts_;
  std::vector<runtime::CuStream> streams_;
  std::vector<cerarComm_t> comms_;
  std::vector<void*> nccl_;
};

/// A vector in the memory of the device that is current.
class DeviceVector {
 public:
  /// `skip` bytes are left out before the vector, so that it is not aligned.
  explicit DeviceVector(std::uint64_t bytes, std::uint64_t skip = 0);
  ~DeviceVector();
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  void* data() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_ + skip_)); }
  void upload(const void* from, runtime::CuStream stream) const;
  void download(void* to, runtime::CuStream stream) const;

 private:
  runtime::CuAddress address_ = 0;
  std::uint64_t bytes_, skip_;
};

/// One all-reduce of f32 vectors, [rank], their upload, the call and the download enqueued without a wait in
/// between; what each rank got.
using Vectors = std::vector<std::vector<float>>;
Vectors all_reduce(const DeviceRanks& ranks, const Vectors& vectors, bool in_place,
                   cerarRedOp_t op = cerarSum, std::uint64_t skip = 0);

/// rms(result - exact) / rms(exact) over all ranks, exact in double; NaN stays NaN.
double relative_error(const Vectors& inputs, const Vectors& results, bool average = false);

/// What the last call of rank 0 did.
cerarCallInfo_t last_call(const DeviceRanks& ranks, int rank = 0);

}  // namespace cerar::test
