#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/measure/inputs.h"

namespace cerar::runtime {

/// The vectors of one rank's calls, in the memory that its communicators work on.
class CallVectors {
 public:
  virtual ~CallVectors() = default;

  /// Room for vectors of so many bytes, so that `load` allocates nothing.
  virtual void reserve(std::size_t /*bytes*/) {}

  /// What the next calls read and overwrite, as elements of options.type: `input` alone in place, else an
  /// output of NaNs beside it.
  virtual void load(const std::vector<float>& input, const MeasureOptions& options) = 0;

  /// Makes or enqueues a call on them. Throws what the C API reports.
  virtual void all_reduce(cerarComm_t comm, cerarRedOp_t op) = 0;

  /// Returns once what is enqueued is done. Throws what went wrong in it.
  virtual void wait(cerarComm_t comm) = 0;

  virtual std::vector<float> result() const = 0;
};

/// In the memory of this process.
std::unique_ptr<CallVectors> make_host_vectors();

/// NaNs, so that what is not written shows.
std::vector<float> poison(std::size_t count);

/// Mean microseconds of a rank's calls, over `iterations` calls after `warmups`. Every rank calls it, with
/// vectors loaded; `meet` returns when all have called it. On GPUs of one process nothing may be allocated
/// while calls of other ranks are under way (cerar.h), so ranks also meet around what does.
double time_calls_us(CallVectors& vectors, cerarComm_t comm, const MeasureOptions& options, int warmups,
                     int iterations, const std::function<void()>& meet);

struct CommDestroy {
  void operator()(cerarComm_t comm) const { cerarCommDestroy(comm); }
};
using UniqueComm = std::unique_ptr<cerarComm, CommDestroy>;

/// Throws an Error with the sentence of cerarGetLastError unless `result` is success.
void require_success(cerarResult_t result);

}  // namespace cerar::runtime
