#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/include/cerar_gloo.h"
#include "runtime/measure/time_limit.h"

namespace cerar::test {

/// A directory of this test process, removed when it exits.
const std::filesystem::path& job_scratch();

/// The directory of a plan with one variant, made by cerar-tune on first use. Call it before ranks are
/// forked.
std::string job_plan(const std::string& construction, int workers, int components,
                     const std::string& wire = "f32");

/// A communicator of a rank's process, destroyed with its owner.
struct DestroyComm {
  void operator()(cerarComm* comm) const { cerarCommDestroy(comm); }
};
using Comm = std::unique_ptr<cerarComm, DestroyComm>;

/// Throws the C API's sentence. An empty plan directory takes the exact ring.
Comm join(int rank, int ranks, const std::string& plan, const std::string& store,
          TimeLimit limit = TimeLimit(60000));

}  // namespace cerar::test
