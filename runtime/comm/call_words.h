#pragma once

#include <cstdint>
#include <string>

#include "runtime/comm/executor.h"
#include "runtime/host/transport.h"

namespace cerar::runtime {

/// What ranks must agree on before call number `operation` of a communicator. `plan` null: none.
CallDescription describe(const Call& call, std::uint64_t operation, const Plan* plan);

/// "plan a100-pcie (0123456789ab)", "the exact ring" or "no plan".
std::string words_of(const Plan* plan);

/// Who failed is the transport's to say; in which call of what, the executor's: adds that to its sentence
/// unless another rank has.
std::string with_call(const std::string& sentence, std::uint64_t operation, const Plan* plan);

}  // namespace cerar::runtime
