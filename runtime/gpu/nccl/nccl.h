#pragma once

#include <fmt/format.h>

#include <string>

#include "runtime/gpu/nccl/nccl_api.h"

namespace cerar::runtime {

/// The functions of NCCL, opened at the first use and never closed.
struct Nccl {
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_NCCL_POINTER(name, parameters) NcclResult(*name) parameters = nullptr;
  CERAR_NCCL_FUNCTIONS(CERAR_NCCL_POINTER)
  CERAR_NCCL_NEWER_FUNCTIONS(CERAR_NCCL_POINTER)
#undef CERAR_NCCL_POINTER
  // NOLINTEND(bugprone-macro-parentheses)
};

/// Taken from the library that the caller chose, see NcclLibrary in nccl.cpp. Throws `unsupported` when NCCL
/// is missing or older than 2.18; tries again at the next call.
const Nccl& nccl();

/// From now on `nccl` is what `look_up` finds by name. Throws `invalid_argument` once NCCL is open.
void use_nccl(void* (*look_up)(const char* name));

/// Throws `unsupported` unless `nccl` is, by all that can be known, of the version that made the caller's
/// communicators: another one reads them with another layout.
void require_callers_nccl();

/// "NCCL 2.28.9 of /usr/lib/x86_64-linux-gnu/libnccl.so.2", which `nccl` is.
std::string nccl_words();

/// Throws `system`, or `peer_failed` where another rank is to blame.
[[noreturn]] void fail(NcclResult result, const std::string& what);

/// Does that unless the call succeeded; `what` as for calls of the driver.
template <typename... Values>
void check(NcclResult result, fmt::format_string<const Values&...> what, const Values&... values) {
  if (result != kNcclSuccess) fail(result, fmt::format(what, values...));
}

/// "a call of CUDA failed (NCCL error 1)"
std::string words_of(NcclResult result);

}  // namespace cerar::runtime
