#include "runtime/api/comm.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "runtime/base/debug_log.h"
#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/host/builtin_ring.h"
#include "runtime/host/executor.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

constexpr std::size_t kShapes = 1000;  // as many are remembered: some applications never repeat a count

}  // namespace

void log_plan(const Plan& plan, std::string_view directory) {
  debug_log("plan {}: digest {}, topology {}, {} workers, {} variants", directory, plan.digest, plan.topology,
            plan.workers, plan.variants.size());
}

void log_comm(int rank, int ranks, std::string_view transport, const Plan* plan) {
  set_debug_rank(rank);
  debug_log("rank {} of {} over {}, {}", rank, ranks, transport,
            plan ? "plan " + plan->digest : std::string("without a plan"));
}

void log_call(LoggedCalls& logged, const Call& call, const CallReport& report) {
  if (!debug_log_is_on() || logged.size() > kShapes ||
      !logged.emplace(call.count, call.type, call.reduction).second)
    return;
  if (logged.size() > kShapes)
    return debug_log("all-reduces of more than {} different counts, types and operations; no more are named",
                     kShapes);
  const std::string variant = report.variant       ? report.variant->name
                              : report.by_baseline ? "the transport's own all-reduce"
                                                   : "nothing to send";
  debug_log("all-reduce of {} elements of {}, {}: {}, {} components, {} lanes, claimed error {:.2e}",
            call.count, name_of(call.type), call.reduction == Reduction::average ? "average" : "sum", variant,
            report.variant ? report.variant->shape.components : 0, report.lanes, report.claim.total);
}

namespace {

// Beyond what machines hold: what is larger is a mistake, and listing its pieces alone would take minutes.
constexpr std::size_t kMostBytes = std::size_t{1} << 46;

DataType checked_type(cerarDataType_t type) {
  switch (type) {
    case cerarFloat32:
      return DataType::f32;
    case cerarFloat16:
      return DataType::f16;
    case cerarBfloat16:
      return DataType::bf16;
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("data type {} is not supported; use cerarFloat32 (0), cerarFloat16 (1) or "
                          "cerarBfloat16 (2).",
                          static_cast<int>(type)));
}

void check_pointer(const void* pointer, const char* name, DataType type) {
  if (!pointer)
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is a null pointer with a count above 0.", name));
  if (reinterpret_cast<std::uintptr_t>(pointer) % size_of(type) != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is {}, which is not a multiple of {}; {} vectors need that alignment.", name,
                            pointer, size_of(type), name_of(type)));
}

}  // namespace

std::unique_ptr<cerarPlan> load(const std::filesystem::path& directory) {
  auto plan = std::make_unique<cerarPlan>();
  plan->loaded = std::make_shared<const LoadedPlan>(load_plan_directory(directory));
  try {
    plan->host = std::make_shared<const HostKernels>(*plan->loaded);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_plan) throw;
    plan->no_host = error;  // GPUs do without
  }
  return plan;
}

void check_threads(int ranks) {
  if (ranks < 1 || ranks > 4096)
    throw Error(ErrorCode::invalid_argument, fmt::format("ranks is {} but must lie in 1..4096.", ranks));
}

void check_workers(cerarPlan_t plan, int ranks) {
  if (plan && ranks != 1 && ranks != plan->plan().workers)
    throw Error(
        ErrorCode::invalid_plan,
        fmt::format("the plan is for {} workers but {} ranks were asked for; run cerar-tune --workers {}.",
                    plan->plan().workers, ranks, ranks));
}

SharedPlan shared_plan(cerarPlan_t plan, int ranks) {
  if (plan && plan->no_host) throw *plan->no_host;
  if (plan) return {plan->loaded->plan, plan->host};
  const auto ring = std::make_shared<const Plan>(builtin_ring_plan(ranks));
  return {ring, std::make_shared<const HostKernels>(*ring, builtin_ring_kernels())};
}

std::unique_ptr<cerarComm> join_comm(std::unique_ptr<Transport> transport, cerarPlan_t plan) {
  SharedPlan shared;
  try {
    check_workers(plan, transport->size());
    shared = shared_plan(plan, transport->size());
    require_agreement(transport->exchange(describe_call(0, 0, "", "", shared.plan->digest)));
  } catch (const Error& error) {
    // All ranks see a mismatch; of anything else they hear from here, and need not wait.
    if (error.code() != ErrorCode::mismatch)
      transport->abort(fmt::format("rank {} gave up joining: {}", transport->rank(), error.what()));
    throw;
  }
  const int rank = transport->rank(), ranks = transport->size();
  auto executor = make_host_executor(shared.plan, shared.kernels, std::move(transport));
  return std::make_unique<cerarComm>(shared.plan, std::move(executor), rank, ranks);
}

void check_struct_size(const char* name, size_t size, size_t first, size_t known) {
  if (size < first || size > known || size % alignof(size_t) != 0)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the size of {} is {}, but this libcerar ({}) knows sizes from {} to {}; set it with "
                    "the struct's INITIALIZER macro, from the header of this version or an older one.",
                    name, size, CERAR_VERSION_TEXT, first, known));
}

Timeouts checked_timeouts(const cerarCommConfig_t* config) {
  cerarCommConfig_t wanted = CERAR_COMM_CONFIG_INITIALIZER;
  if (config) {
    check_struct_size("cerarCommConfig_t", config->size, sizeof(cerarCommConfig_t),
                      sizeof(cerarCommConfig_t));
    wanted = *config;
  }
  for (const auto& [name, value] : {std::pair("timeout_ms", wanted.timeout_ms),
                                    std::pair("meeting_timeout_ms", wanted.meeting_timeout_ms)})
    if (value < 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} is {} but must not be negative.", name, value));
  Timeouts timeouts;
  if (wanted.timeout_ms == 0 || wanted.meeting_timeout_ms == 0) timeouts = read_environment().timeouts;
  if (wanted.timeout_ms > 0) timeouts.call = std::chrono::milliseconds(wanted.timeout_ms);
  if (wanted.meeting_timeout_ms > 0) timeouts.meeting = std::chrono::milliseconds(wanted.meeting_timeout_ms);
  return timeouts;
}

Call checked_shape(size_t count, cerarDataType_t type, cerarRedOp_t op) {
  const DataType element = checked_type(type);
  if (op != cerarSum && op != cerarAverage)
    throw Error(ErrorCode::unsupported,
                fmt::format("operation {} is not supported; use cerarSum (0) or cerarAverage (1).",
                            static_cast<int>(op)));
  if (count > kMostBytes / size_of(element))
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("count is {} elements of {}, more than the 64 TiB that a vector may have; pass the "
                    "number of elements, not of bytes, or several vectors.",
                    count, name_of(element)));
  return {
      .count = count, .type = element, .reduction = op == cerarAverage ? Reduction::average : Reduction::sum};
}

Call checked_call(const void* send, void* recv, size_t count, cerarDataType_t type, cerarRedOp_t op) {
  Call call = checked_shape(count, type, op);
  if (count == 0) return call;
  check_pointer(send, "send", call.type);
  check_pointer(recv, "recv", call.type);
  const auto from = reinterpret_cast<std::uintptr_t>(send), to = reinterpret_cast<std::uintptr_t>(recv);
  const auto bytes = count * size_of(call.type);
  if (from != to && from < to + bytes && to < from + bytes)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("send {} and recv {} of {} bytes overlap over {}; pass equal or separate buffers.", send,
                    static_cast<const void*>(recv), bytes, bytes - (from < to ? to - from : from - to)));
  call.send = send;
  call.receive = recv;
  return call;
}

}  // namespace cerar::runtime
