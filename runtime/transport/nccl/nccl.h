#pragma once

#include <string>

#include "runtime/transport/nccl/nccl_api.h"

namespace cerar::runtime {

/// The functions of NCCL, opened at the first use and never closed.
struct Nccl {
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_NCCL_POINTER(name, parameters) NcclResult(*name) parameters = nullptr;
  CERAR_NCCL_FUNCTIONS(CERAR_NCCL_POINTER)
#undef CERAR_NCCL_POINTER
  // NOLINTEND(bugprone-macro-parentheses)
};

/// Throws `unsupported` when NCCL is missing or older than 2.18; tries again at the next call.
const Nccl& nccl();

/// Throws `system`, or `peer_failed` where another rank is to blame, unless the call succeeded. `what` is
/// what was tried.
void check(NcclResult result, const std::string& what);

/// "unhandled CUDA error (1)"
std::string words_of(NcclResult result);

}  // namespace cerar::runtime
