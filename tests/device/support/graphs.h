#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/measure/call_vectors.h"
#include "runtime/measure/element_type.h"
#include "tests/device/support/device_plans.h"
#include "tests/device/support/device_ranks.h"
#include "tests/device/support/device_test.h"

namespace cerar::test {

/// What a function enqueues on a stream, captured and ready to be replayed.
class Graph {
 public:
  Graph(runtime::CuStream stream, const std::function<void()>& body,
        runtime::CuCaptureMode mode = runtime::kCuCaptureThreadLocal) {
    require_driver(runtime::cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture");
    body();
    runtime::CuGraph graph = nullptr;
    require_driver(runtime::cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    const runtime::CuResult made = runtime::cuGraphInstantiateWithFlags(&exec_, graph, 0);
    runtime::cuGraphDestroy(graph);
    require_driver(made, "cuGraphInstantiate");
  }
  ~Graph() { runtime::cuGraphExecDestroy(exec_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(runtime::CuStream stream) const {
    require_driver(runtime::cuGraphLaunch(exec_, stream), "cuGraphLaunch");
  }

 private:
  runtime::CuGraphExec exec_ = nullptr;
};

/// One rank's two vectors on its device.
struct Buffers {
  Buffers(const DeviceRanks& all, int of, std::size_t elements, cerarDataType_t as)
      : ranks(all),
        rank(of),
        count(elements),
        type(as),
        send(count * runtime::element_bytes(type)),
        receive(count * runtime::element_bytes(type)) {}

  runtime::CuStream stream() const { return ranks.stream(rank); }

  void call(const DeviceVector& from, const DeviceVector& to) const {
    runtime::require_success(
        cerarAllReduce(from.data(), to.data(), count, type, cerarSum, ranks.comm(rank), stream()));
  }

  /// Fills both, the result with what would be noticed, does it, and fetches the result.
  std::vector<float> result_of(const std::vector<float>& input, const std::function<void()>& what) const {
    const auto bytes = runtime::packed(type, input);
    const auto poison =
        runtime::packed(type, std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
    send.upload(bytes.data(), stream());
    receive.upload(poison.data(), stream());
    what();
    std::vector<std::byte> result(bytes.size());
    receive.download(result.data(), stream());
    return runtime::unpacked(type, result);
  }

  const DeviceRanks& ranks;
  int rank;
  std::size_t count;
  cerarDataType_t type;
  DeviceVector send, receive;
};

inline void prepare(const DeviceRanks& ranks, int rank, std::size_t count,
                    cerarDataType_t type = cerarFloat32) {
  runtime::require_success(cerarCommPrepare(ranks.comm(rank), count, type, cerarSum));
}

inline void out_of_place(const Buffers& b) { b.call(b.send, b.receive); }

/// Plans that are made once for all tests.
class Graphs : public DeviceTest {
 protected:
  const std::string& ring() const {
    static const std::string plan = device_plan(runtime::Construction::ring, 3, 3);
    return use(plan);
  }
  const std::string& differential() const {
    static const std::string plan = device_plan(runtime::Construction::differential, 3, 9);
    return use(plan);
  }

 private:
  static const std::string& use(const std::string& plan) {
    software_gpu_use(plan.c_str());
    return plan;
  }
};

}  // namespace cerar::test
