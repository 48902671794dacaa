#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::generator {

struct GenerateOptions {
  std::vector<std::string>
      architectures;             ///< cubins to build: "sm_80", ..., and PTX: "compute_80"; may be empty
  bool host = true;              ///< build host kernels
  std::string host_target = {};  ///< what for; empty: host_target()
  std::filesystem::path out;     ///< the plan directory
  bool replace = false;          ///< an existing plan directory gives way
  std::function<void(const std::string&)> progress = {};  ///< a line for each step; calls never overlap
};

/// Turns a designed plan into a plan directory:
///   plan.yaml  kernels/<variant>.cu  kernels/<variant>.<arch>.cubin or .ptx  kernels/<variant>.host.so
/// Fills `kernels` and `artefacts` of every variant, `host_target` and `nvrtc`, and publishes all files in
/// one step; an error leaves `plan` and the destination as they were and nothing behind. Equal plans give
/// equal bytes. Spills are recorded, not refused. Throws what specialise, compile_cubin, compile_host and
/// StagedDirectory throw, and `invalid_plan` for variant names that cannot be file names or occur twice.
void generate(runtime::Plan& plan, const GenerateOptions& options);

}  // namespace cerar::generator
