#include "tests/software_gpu/streams/graph.h"

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/driver_api/graphs.h"

// Capture and graphs.
using namespace software_gpu;

namespace software_gpu {

Handles<CuGraph, const Graph>& graphs() {
  static auto& made = *new Handles<CuGraph, const Graph>;
  return made;
}
Handles<CuGraphExec, GraphExec>& graph_execs() {
  static auto& made = *new Handles<CuGraphExec, GraphExec>;
  return made;
}

}  // namespace software_gpu

namespace cerar::runtime {

CuResult cuStreamBeginCapture_v2(CuStream handle, CuCaptureMode mode) {
  SOFTWARE_GPU_ENTER(cuStreamBeginCapture_v2);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  if (mode < kCuCaptureGlobal || mode > kCuCaptureRelaxed) return kCuInvalidValue;
  return Capture::begin(stream, mode);
}

CuResult cuStreamEndCapture(CuStream handle, CuGraph* graph) {
  SOFTWARE_GPU_ENTER(cuStreamEndCapture);
  const std::lock_guard hold(world());
  *graph = nullptr;
  std::shared_ptr<Stream> stream;
  SOFTWARE_GPU_TRY(find_stream(handle, &stream));
  if (!stream->capture) return kCuInvalidValue;
  std::shared_ptr<Graph> made;
  const auto capture = stream->capture;
  SOFTWARE_GPU_TRY(capture->end(stream, &made));
  *graph = graphs().add(std::move(made));
  return kCuSuccess;
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec* made, CuGraph handle, unsigned long long) {
  SOFTWARE_GPU_ENTER(cuGraphInstantiateWithFlags);
  const std::lock_guard hold(world());
  SOFTWARE_GPU_TRY(require_current());
  auto graph = graphs().find(handle);
  if (!graph) return kCuInvalidValue;
  *made = graph_execs().add(std::make_shared<GraphExec>(std::move(graph)));
  return kCuSuccess;
}

CuResult cuGraphLaunch(CuGraphExec handle, CuStream stream_handle) {
  SOFTWARE_GPU_ENTER(cuGraphLaunch);
  const std::lock_guard hold(world());
  std::shared_ptr<Stream> stream;
  SOFTWARE_GPU_TRY(find_stream(stream_handle, &stream));
  auto exec = graph_execs().find(handle);
  if (!exec) return kCuInvalidValue;
  for (const auto& node : exec->graph().nodes) SOFTWARE_GPU_TRY(node.context->state());
  Work work;
  work.orders.assign(exec->graph().orders.begin(), exec->graph().orders.end());
  work.orders.push_back(exec->order);
  work.run = [exec = std::move(exec)] {
    count(&SoftwareGpuCounters::graph_launches);
    exec->run();
    return kCuSuccess;
  };
  return submit(stream, std::move(work));
}

CuResult cuGraphExecDestroy(CuGraphExec handle) {
  SOFTWARE_GPU_ENTER(cuGraphExecDestroy);
  const std::lock_guard hold(world());
  if (!graph_execs().find(handle)) return kCuInvalidValue;
  if (!strikes(kSoftwareGpuLeak)) graph_execs().remove(handle);
  return kCuSuccess;
}

CuResult cuGraphDestroy(CuGraph handle) {
  SOFTWARE_GPU_ENTER(cuGraphDestroy);
  const std::lock_guard hold(world());
  if (!graphs().find(handle)) return kCuInvalidValue;
  if (!strikes(kSoftwareGpuLeak)) graphs().remove(handle);
  return kCuSuccess;
}

}  // namespace cerar::runtime
