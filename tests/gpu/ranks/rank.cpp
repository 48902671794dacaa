#include "tests/gpu/ranks/rank.h"

#include <cstring>

#include "runtime/measure/rank_threads.h"
#include "tests/gpu/support/driver_extras.h"

namespace cerar::test {

using namespace runtime;

namespace {

constexpr std::size_t kGuard = 1024;
constexpr unsigned kGuardWord = 0xdeadbeef, kPoisonWord = 0xffffffff;

std::size_t guarded(std::size_t bytes) { return (bytes + 3) / 4 * 4 + 2 * kGuard; }

}  // namespace

GuardedVector::GuardedVector(const DeviceHandle& device, std::size_t bytes, CuStream stream)
    : memory_(device, guarded(bytes)), bytes_(bytes), stream_(stream) {
  check(driver().cuMemsetD32Async(memory_.address(), kGuardWord, memory_.bytes() / 4, stream_),
        "filling device memory");
}

void* GuardedVector::data() const {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory_.address() + kGuard));
}

void GuardedVector::upload(const void* from) const {
  check(driver().cuMemcpyHtoDAsync_v2(memory_.address() + kGuard, from, bytes_, stream_),
        "copying to a device");
  // Pageable memory: nothing may change it before the copy is done.
  check(driver().cuStreamSynchronize(stream_), "waiting for a copy to a device");
}

void GuardedVector::poison() const {
  const std::vector<std::byte> poison(bytes_, static_cast<std::byte>(kPoisonWord & 0xff));
  upload(poison.data());
}

std::vector<std::byte> GuardedVector::download() const {
  std::vector<std::byte> bytes(bytes_);
  check(driver().cuMemcpyDtoHAsync_v2(bytes.data(), memory_.address() + kGuard, bytes_, stream_),
        "copying from a device");
  check(driver().cuStreamSynchronize(stream_), "waiting for a copy from a device");
  return bytes;
}

bool GuardedVector::guards_intact() const {
  std::vector<std::byte> bytes(memory_.bytes()), wanted(memory_.bytes());
  check(driver().cuMemcpyDtoHAsync_v2(bytes.data(), memory_.address(), bytes.size(), stream_),
        "copying from a device");
  check(driver().cuStreamSynchronize(stream_), "waiting for a copy from a device");
  for (std::size_t i = 0; i < wanted.size(); i += 4) std::memcpy(wanted.data() + i, &kGuardWord, 4);
  const std::size_t end = kGuard + bytes_;
  return !std::memcmp(bytes.data(), wanted.data(), kGuard) &&
         !std::memcmp(bytes.data() + end, wanted.data() + end, bytes.size() - end);
}

Rank::Rank(int rank, int device, cerarComm_t comm)
    : rank_(rank), comm_(comm), device_(std::make_shared<const Device>(device)), stream_(device_) {}

Rank::~Rank() { cerarCommDestroy(comm_); }

std::vector<std::byte> Rank::call(const RankInputs& inputs, const CallCase& call,
                                  std::vector<std::string>& problems) const {
  const OnDevice current(*device_);
  const std::size_t bytes = call.count * runtime::element_bytes(inputs.type());
  const GuardedVector send(device_, bytes, stream());
  std::optional<GuardedVector> other;
  if (!call.in_place) other.emplace(device_, bytes, stream()).poison();
  const GuardedVector& receive = call.in_place ? send : *other;
  send.upload(inputs.of(rank_));
  require_success(
      cerarAllReduce(send.data(), receive.data(), call.count, inputs.type(), call.op, comm_, stream()));
  auto result = finish(inputs, call, receive, 1, problems);
  if (!call.in_place && std::memcmp(send.download().data(), inputs.of(rank_), bytes))
    problems.push_back("the input of a call out of place has changed");
  if (!send.guards_intact()) problems.push_back("memory around the input is overwritten");
  return result;
}

std::vector<std::byte> Rank::finish(const RankInputs& inputs, const CallCase& call,
                                    const GuardedVector& result, double factor,
                                    std::vector<std::string>& problems) const {
  auto bytes = result.download();
  cerarResult_t error = cerarSuccess;
  require_success(cerarCommGetAsyncError(comm_, &error));
  require_success(error);
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  require_success(cerarCommLastCall(comm_, &info));
  if (const auto problem = judge(bytes, inputs, call, factor, info)) problems.push_back(*problem);
  if (!result.guards_intact()) problems.push_back("memory around the result is overwritten");
  return bytes;
}

void Rank::replay(const RankInputs& inputs, const CallCase& call, std::vector<std::string>& problems) const {
  const OnDevice current(*device_);
  const GraphFunctions functions = graph_functions();
  const std::size_t bytes = call.count * runtime::element_bytes(inputs.type());
  const GuardedVector send(device_, bytes, stream()), receive(device_, bytes, stream());
  require_success(cerarCommPrepare(comm_, call.count, inputs.type(), call.op));
  CuGraph graph = nullptr;
  CuGraphExec made = nullptr;
  check(functions.begin(stream(), kCuCaptureThreadLocal), "beginning a capture");
  const cerarResult_t captured =
      cerarAllReduce(send.data(), receive.data(), call.count, inputs.type(), call.op, comm_, stream());
  check(functions.end(stream(), &graph), "ending a capture");
  require_success(captured);
  check(functions.instantiate(&made, graph, 0), "making a graph ready");
  for (const float factor : {1.0f, 2.0f}) {
    // Multiplied by a power of two, inputs and sums change without any rounding.
    auto scaled = runtime::unpacked(inputs.type(), {static_cast<const std::byte*>(inputs.of(rank_)), bytes});
    for (float& x : scaled) x *= factor;
    receive.poison();
    send.upload(scaled.data());
    check(functions.launch(made, stream()), "launching a graph");
    finish(inputs, call, receive, factor, problems);
  }
  check(functions.destroy_exec(made), "destroying a graph");
  check(functions.destroy(graph), "destroying a graph");
}

}  // namespace cerar::test
