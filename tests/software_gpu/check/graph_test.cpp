#include <thread>

#include "tests/software_gpu/check/device.h"

namespace software_gpu_test {
namespace {

constexpr std::size_t kElements = 1000;

class Capture : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    main_ = stream();
    side_ = stream();
    in_ = allocate(kElements);
    left_ = allocate(kElements);
    right_ = allocate(kElements);
    forked_ = event();
    joined_ = event();
  }
  /// left = 2 in on one stream, right = 3 left on the other.
  void fork() {
    CU(scale(in_, left_, kElements, 2, main_));
    CU(cuEventRecord(forked_, main_));
    CU(cuStreamWaitEvent(side_, forked_, 0));
    CU(scale(left_, right_, kElements, 3, side_));
  }
  void join() {
    CU(cuEventRecord(joined_, side_));
    CU(cuStreamWaitEvent(main_, joined_, 0));
  }

  CuStream main_ = nullptr, side_ = nullptr;
  CuAddress in_ = 0, left_ = 0, right_ = 0;
  CuEvent forked_ = nullptr, joined_ = nullptr;
  CuGraph graph_ = nullptr;
};

TEST_F(Capture, replays_with_changed_inputs) {
  CU(cuStreamBeginCapture_v2(main_, kCuCaptureThreadLocal));
  fork();
  CuCaptureStatus status;
  unsigned long long id = 0;
  CU(cuStreamGetCaptureInfo(side_, &status, &id));
  EXPECT_EQ(status, kCuCaptureActive);
  join();
  CU(scale(right_, left_, kElements, 1, main_));
  CU(cuStreamEndCapture(main_, &graph_));
  CuGraphExec exec;
  CU(cuGraphInstantiateWithFlags(&exec, graph_, 0));
  CU(cuGraphDestroy(graph_));
  EXPECT_EQ(counters().launches, 0);
  for (const float value : {1.f, 2.f, 5.f}) {
    put(in_, std::vector<float>(kElements, value), main_);
    CU(cuGraphLaunch(exec, main_));
    EXPECT_EQ(get(left_, kElements, main_), std::vector<float>(kElements, 6 * value));
  }
  CU(cuGraphExecDestroy(exec));
  EXPECT_EQ(counters().launches, 9);
  EXPECT_EQ(counters().graphs_live, 0);
}

TEST_F(Capture, unjoined_is_refused) {
  CU(cuStreamBeginCapture_v2(main_, kCuCaptureThreadLocal));
  fork();
  EXPECT_EQ(cuStreamEndCapture(main_, &graph_), kCuCaptureUnjoined);
  CuCaptureStatus status;
  unsigned long long id = 0;
  CU(cuStreamGetCaptureInfo(side_, &status, &id));
  EXPECT_EQ(status, kCuCaptureNone);
}

TEST_F(Capture, waits_of_the_host_invalidate_it) {
  for (int what = 0; what < 5; ++what) {
    CU(cuStreamBeginCapture_v2(main_, kCuCaptureThreadLocal));
    fork();
    join();
    CuAddress address;
    const CuResult result = what == 0   ? cuStreamSynchronize(main_)
                            : what == 1 ? cuStreamQuery(side_)
                            : what == 2 ? cuEventQuery(joined_)
                            : what == 3 ? cuMemAlloc_v2(&address, 4)
                                        : cuMemFree_v2(in_);
    EXPECT_EQ(result, what == 2 ? kCuCapturedEvent : kCuCaptureUnsupported) << what;
    EXPECT_EQ(scale(in_, left_, kElements, 2, main_), kCuCaptureInvalidated);
    EXPECT_EQ(cuStreamEndCapture(main_, &graph_), kCuCaptureInvalidated) << what;
  }
  CU(scale(in_, left_, kElements, 2, main_));
}

TEST_F(Capture, global_mode_binds_other_threads_unless_relaxed) {
  const auto from_other_thread = [&](CuCaptureMode mode) {
    CuResult result = kCuUnknown;
    std::thread([&] {
      cuCtxPushCurrent_v2(context_);
      cuThreadExchangeStreamCaptureMode(&mode);
      CuAddress address;
      result = cuMemAlloc_v2(&address, 4);
    }).join();
    return result;
  };
  CU(cuStreamBeginCapture_v2(main_, kCuCaptureGlobal));
  EXPECT_EQ(from_other_thread(kCuCaptureRelaxed), kCuSuccess);
  EXPECT_EQ(from_other_thread(kCuCaptureGlobal), kCuCaptureUnsupported);
  EXPECT_EQ(cuStreamEndCapture(main_, &graph_), kCuCaptureInvalidated);
  CU(cuStreamBeginCapture_v2(main_, kCuCaptureThreadLocal));
  EXPECT_EQ(from_other_thread(kCuCaptureGlobal), kCuSuccess);
  CU(cuStreamEndCapture(main_, &graph_));
}

TEST_F(Capture, does_not_mix_with_others) {
  const CuStream third = stream();
  CU(cuStreamBeginCapture_v2(main_, kCuCaptureThreadLocal));
  CU(cuStreamBeginCapture_v2(third, kCuCaptureThreadLocal));
  fork();
  EXPECT_EQ(cuStreamWaitEvent(third, forked_, 0), kCuCaptureIsolation);
  EXPECT_EQ(cuStreamEndCapture(third, &graph_), kCuCaptureInvalidated);
  EXPECT_EQ(cuStreamEndCapture(main_, &graph_), kCuCaptureInvalidated);
  EXPECT_EQ(cuStreamWaitEvent(third, forked_, 0), kCuCaptureIsolation);
}

TEST_F(Capture, refuses_the_null_stream_beside_blocking_ones) {
  const CuStream blocking = stream(0);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, kCuCaptureRelaxed), kCuCaptureUnsupported);
  CU(cuStreamBeginCapture_v2(blocking, kCuCaptureRelaxed));
  EXPECT_EQ(scale(in_, left_, kElements, 1, nullptr), static_cast<CuResult>(906));  // implicit
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph_), kCuCaptureInvalidated);
}

}  // namespace
}  // namespace software_gpu_test
