#pragma once

#include "runtime/gpu/driver_api.h"

/// The stand-in's functions as test applications call them when they link it: all that CERAR uses, and what
/// applications need besides.
namespace cerar::runtime {

struct CuGraphTag;
struct CuGraphExecTag;
using CuGraph = CuGraphTag*;
using CuGraphExec = CuGraphExecTag*;
constexpr unsigned kCuMemAttachGlobal = 1;

extern "C" {
#define CERAR_DECLARE(name, parameters) CuResult name parameters;
CERAR_DRIVER_FUNCTIONS(CERAR_DECLARE)
#undef CERAR_DECLARE

CuResult cuCtxGetCurrent(CuContext* context);
CuResult cuCtxSetCurrent(CuContext context);
CuResult cuCtxSynchronize();
CuResult cuMemAllocManaged(CuAddress* address, std::size_t bytes, unsigned flags);
CuResult cuStreamCreate(CuStream* stream, unsigned flags);
CuResult cuEventSynchronize(CuEvent event);
CuResult cuStreamBeginCapture_v2(CuStream stream, CuCaptureMode mode);
CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph);
CuResult cuGraphInstantiateWithFlags(CuGraphExec* made, CuGraph graph, unsigned long long flags);
CuResult cuGraphLaunch(CuGraphExec exec, CuStream stream);
CuResult cuGraphExecDestroy(CuGraphExec exec);
CuResult cuGraphDestroy(CuGraph graph);
}

}  // namespace cerar::runtime
