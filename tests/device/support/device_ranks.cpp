#include "tests/device/support/device_ranks.h"

#include <cmath>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "runtime/measure/rank_threads.h"
#include "runtime/measure/time_limit.h"
#include "tests/software_gpu/software_nccl.h"

namespace cerar::test {

using namespace runtime;

std::string name_of(Link link) {
  switch (link) {
    case Link::nccl:
      return "Nccl";
    case Link::polled:
      return "NcclPolled";
    case Link::nccl_id:
      return "NcclId";
    case Link::peers:
      return "Peers";
    case Link::one_gpu:
      return "OneGpu";
  }
  return "unknown";
}

void require_driver(CuResult result, const char* what) {
  if (result != kCuSuccess) throw std::runtime_error(std::string(what) + ": " + std::to_string(result));
}

DeviceRanks::DeviceRanks(Link link, const std::string& plan_directory, int ranks, int timeout_ms)
    : contexts_(static_cast<std::size_t>(ranks)),
      streams_(static_cast<std::size_t>(ranks)),
      comms_(static_cast<std::size_t>(ranks)),
      nccl_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) devices_.push_back(link == Link::one_gpu ? 0 : rank);
  setenv("SOFTWARE_GPU_DEVICES", "8", 0);
  require_driver(cuInit(0), "cuInit");
  for (std::size_t rank = 0; rank < comms_.size(); ++rank)
    require_driver(cuDevicePrimaryCtxRetain(&contexts_[rank], devices_[rank]), "cuDevicePrimaryCtxRetain");
  cerarPlan_t plan = nullptr;
  try {
    if (!plan_directory.empty()) require_success(cerarPlanLoad(&plan, plan_directory.c_str()));
    NcclUniqueId nccl_id{};
    cerarNcclId_t id{};
    if (link == Link::nccl || link == Link::polled) ncclGetUniqueId(&nccl_id);
    if (link == Link::nccl_id) require_success(cerarGetNcclId(&id));
    if (link == Link::peers || link == Link::one_gpu)
      require_success(cerarCommInitGpus(comms_.data(), ranks, devices_.data(), plan, TimeLimit(timeout_ms)));
    run([&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      require_driver(cuStreamCreate(&streams_[r], kCuStreamNonBlocking), "cuStreamCreate");
      if (link == Link::nccl || link == Link::polled) {
        NcclConfig config;
        config.blocking = link == Link::nccl;
        NcclComm comm = nullptr;
        NcclResult result = ncclCommInitRankConfig(&comm, ranks, nccl_id, rank, &config);
        while (result == kNcclInProgress) ncclCommGetAsyncError(comm, &result);
        if (result != kNcclSuccess) throw std::runtime_error("ncclCommInitRankConfig failed");
        nccl_[r] = comm;
        require_success(cerarCommInitNccl(&comms_[r], comm, plan, TimeLimit(timeout_ms)));
      } else if (link == Link::nccl_id) {
        require_success(
            cerarCommInitNcclId(&comms_[r], &id, rank, ranks, devices_[r], plan, TimeLimit(timeout_ms)));
      }
    });
  } catch (...) {
    cerarPlanFree(plan);
    destroy();
    throw;
  }
  cerarPlanFree(plan);
}

DeviceRanks::~DeviceRanks() { destroy(); }

void DeviceRanks::destroy() {
  run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    cerarCommDestroy(comms_[r]);
    if (streams_[r]) cuStreamDestroy_v2(streams_[r]);
    if (nccl_[r]) ncclCommDestroy(static_cast<NcclComm>(nccl_[r]));
  });
  for (const int device : devices_) cuDevicePrimaryCtxRelease_v2(device);
}

void DeviceRanks::run(const std::function<void(int)>& body) const {
  std::vector<std::exception_ptr> errors(comms_.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < comms_.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        require_driver(cuCtxPushCurrent_v2(contexts_[rank]), "cuCtxPushCurrent");
        body(static_cast<int>(rank));
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  threads.clear();
  // A rank that gives up makes the others wait in vain; its own reason is the interesting one.
  std::string sentences;
  for (std::size_t rank = 0; rank < errors.size(); ++rank) try {
      if (errors[rank]) std::rethrow_exception(errors[rank]);
    } catch (const std::exception& error) {
      sentences += "rank " + std::to_string(rank) + ": " + error.what() + "\n";
    }
  if (!sentences.empty()) throw std::runtime_error(sentences);
}

DeviceVector::DeviceVector(std::uint64_t bytes, std::uint64_t skip) : bytes_(bytes), skip_(skip) {
  require_driver(cuMemAlloc_v2(&address_, bytes + skip), "cuMemAlloc");
}

DeviceVector::~DeviceVector() { cuMemFree_v2(address_); }

void DeviceVector::upload(const void* from, CuStream stream) const {
  require_driver(cuMemcpyHtoDAsync_v2(address_ + skip_, from, bytes_, stream), "cuMemcpyHtoDAsync");
}

void DeviceVector::download(void* to, CuStream stream) const {
  require_driver(cuMemcpyDtoHAsync_v2(to, address_ + skip_, bytes_, stream), "cuMemcpyDtoHAsync");
  require_driver(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Vectors all_reduce(const DeviceRanks& ranks, const Vectors& vectors, bool in_place, cerarRedOp_t op,
                   std::uint64_t skip) {
  Vectors results(vectors.size());
  ranks.run([&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto& vector = vectors[r];
    const std::uint64_t bytes = vector.size() * sizeof(float);
    const DeviceVector send(bytes, skip), receive(in_place ? sizeof(float) : bytes, in_place ? 0 : skip);
    const CuStream stream = ranks.stream(rank);
    const DeviceVector& result = in_place ? send : receive;
    send.upload(vector.data(), stream);
    require_success(cerarAllReduce(send.data(), result.data(), vector.size(), cerarFloat32, op,
                                   ranks.comm(rank), stream));
    results[r].resize(vector.size());
    result.download(results[r].data(), stream);
  });
  return results;
}

double relative_error(const Vectors& inputs, const Vectors& results, bool average) {
  double error = 0, sum = 0;
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    double exact = 0;
    for (const auto& input : inputs) exact += input[i];
    if (average) exact /= static_cast<double>(inputs.size());
    for (const auto& result : results) {
      error += (result[i] - exact) * (result[i] - exact);
      sum += exact * exact;
    }
  }
  return std::sqrt(error / sum);
}

cerarCallInfo_t last_call(const DeviceRanks& ranks, int rank) {
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  require_success(cerarCommLastCall(ranks.comm(rank), &info));
  return info;
}

}  // namespace cerar::test
