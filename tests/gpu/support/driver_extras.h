#pragma once

#include <string>

#include "runtime/gpu/driver.h"

/// Functions of libcuda that programs around the runtime need and the runtime itself does not; looked up when
/// they are first asked for.
namespace cerar::test {

struct CuGraphTag;
struct CuGraphExecTag;
using CuGraph = CuGraphTag*;
using CuGraphExec = CuGraphExecTag*;

struct GraphFunctions {
  runtime::CuResult (*begin)(runtime::CuStream, runtime::CuCaptureMode) = nullptr;
  runtime::CuResult (*end)(runtime::CuStream, CuGraph*) = nullptr;
  runtime::CuResult (*instantiate)(CuGraphExec*, CuGraph, unsigned long long flags) = nullptr;
  runtime::CuResult (*launch)(CuGraphExec, runtime::CuStream) = nullptr;
  runtime::CuResult (*destroy_exec)(CuGraphExec) = nullptr;
  runtime::CuResult (*destroy)(CuGraph) = nullptr;
};
/// Throws `unsupported` when the driver lacks one.
GraphFunctions graph_functions();

using ElapsedTime = runtime::CuResult (*)(float* milliseconds, runtime::CuEvent from, runtime::CuEvent to);
/// Null for a driver without timing, which is what the stand-in is.
ElapsedTime elapsed_time();

/// Whether libcuda.so.1 is the stand-in of tests/software_gpu.
bool is_stand_in();

/// A real driver needs no more than the plan's cubins. The stand-in cannot run them: it must be told which
/// directory holds their host builds, or it refuses to load them.
void use_plan(const std::string& directory);

}  // namespace cerar::test
