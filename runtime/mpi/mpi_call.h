#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <mutex>
#include <string>

#include "runtime/base/error.h"

namespace cerar::runtime {

/// What MPI says about one of its error codes.
inline std::string mpi_sentence(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("error {}", code);
  return std::string(text, static_cast<std::size_t>(length));
}

/// Held around every call of MPI: with less than MPI_THREAD_MULTIPLE, communicators that are used from
/// several threads take turns. MPI must be initialised.
inline std::unique_lock<std::mutex> mpi_turn() {
  static std::mutex mutex;
  static const bool shared = [] {
    int level = MPI_THREAD_SINGLE;
    return MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  }();
  return shared ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(mutex);
}

/// mpi_call("MPI_Isend", MPI_Isend, arguments...): throws `system` with MPI's own sentence where it fails.
template <typename... Parameters, typename... Arguments>
void mpi_call(const char* name, int (*function)(Parameters...), Arguments... arguments) {
  const auto turn = mpi_turn();
  if (const int code = function(arguments...); code != MPI_SUCCESS)
    throw Error(ErrorCode::system, fmt::format("{} failed: {}.", name, mpi_sentence(code)));
}

}  // namespace cerar::runtime
