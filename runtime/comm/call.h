#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

enum class Reduction { sum, average };

/// One all-reduce of `count` elements; `send` may equal `receive` but not overlap it otherwise.
struct Call {
  const void* send = nullptr;
  void* receive = nullptr;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
  void* stream = nullptr;  ///< of a device, for vectors in its memory
};

/// Relative rms errors that a plan claims for one call.
struct CallClaim {
  double total = 0;
  double noise = 0;  ///< the part of it that is rounding of messages
};

/// What one call did, counted while it ran.
struct CallReport {
  const Variant* variant = nullptr;  ///< null when nothing had to be done
  std::uint64_t call_index = 0;      ///< number of the call on its communicator, from 0
  std::uint64_t scratch_bytes = 0;   ///< memory beyond the caller's vectors
  std::uint64_t sent_bytes = 0;      ///< payload handed to the transport
  std::uint64_t messages = 0;
  std::uint64_t launches = 0;  ///< of kernels, on devices
  int lanes = 0;
  bool by_baseline = false;  ///< the transport's own all-reduce, the plan's baseline, did it
  CallClaim claim;
};

/// What every rank must pass alike to one collective call. Plain data, the same on every machine of a job, so
/// that transports can send it as it is; words end with a zero.
struct CallDescription {
  static constexpr std::size_t kWord = 16;
  std::uint64_t call_index = 0;  ///< how many calls this communicator made before
  std::uint64_t count = 0;       ///< elements
  char type[kWord] = {};         ///< "f32"
  char reduction[kWord] = {};    ///< "sum" or "average"
  char plan[kWord] = {};         ///< beginning of the plan's digest
};

CallDescription describe_call(std::uint64_t call_index, std::uint64_t count, std::string_view type,
                              std::string_view reduction, std::string_view plan_digest);

/// Throws `mismatch`, naming two ranks and both values, unless all descriptions ([rank]) are the same.
void require_agreement(const std::vector<CallDescription>& calls);

/// What ranks that pass this do: "compare plans" or "call all-reduce number 3 (1000 elements of f32, sum)".
std::string words_of(const CallDescription& call);

/// The sentence of a `timeout` for ranks that did not come to exchange `mine`.
std::string not_called(const CallDescription& mine, const std::vector<int>& ranks,
                       std::chrono::milliseconds timeout);

/// What ranks must agree on before call number `call_index` of a communicator. `plan` null: none.
CallDescription describe(const Call& call, std::uint64_t call_index, const Plan* plan);

/// "plan a100-pcie (0123456789ab)", "the exact ring" or "no plan".
std::string words_of(const Plan* plan);

/// Who failed is the transport's to say; in which call of what, the executor's: adds that to its sentence
/// unless another rank has.
std::string with_call(const std::string& sentence, std::uint64_t call_index, const Plan* plan);

/// The variant whose byte range holds `bytes`; a checked plan always has exactly one.
const Variant& variant_for(const Plan& plan, std::uint64_t bytes);

/// What the variant claims for a call. Out of place it is `claim_out_of_place` where there is one, but for
/// vectors that are `copied` before they are worked on, as those of 16 bits are, and for the elements behind
/// the last whole row of every class, which are copied too; with both it is the rms of both. The rounding of
/// the result to a type of 16 bits is part of the total.
CallClaim claim_for(const Variant& variant, const Call& call, bool copied);

}  // namespace cerar::runtime
