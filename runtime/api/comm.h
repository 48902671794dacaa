#pragma once

#include <filesystem>
#include <memory>

#include "runtime/api/cerar.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/host/host_kernels.h"
#include "runtime/plan/plan.h"

/// A loaded plan with the directory it came from.
struct cerarPlan {
  std::shared_ptr<const cerar::runtime::Plan> plan;
  std::filesystem::path directory;
};

/// One rank's communicator.
struct cerarComm {
  std::shared_ptr<const cerar::runtime::Plan> plan;  // outlives the report's pointer into it
  std::unique_ptr<cerar::runtime::Executor> executor;
  cerar::runtime::CallReport last;
};

namespace cerar::runtime {

/// Checks what the C caller passed and turns it into a Call. Throws `invalid_argument` or `unsupported`.
Call checked_call(const void* send, void* recv, size_t count, cerarDataType_t type, cerarRedOp_t op);

}  // namespace cerar::runtime
