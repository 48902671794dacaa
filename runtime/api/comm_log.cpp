#include "runtime/api/comm_log.h"

#include <string>

#include "runtime/base/debug_log.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

constexpr std::size_t kShapes = 1000;  // as many are remembered: some applications never repeat a count

}  // namespace

void log_plan(const Plan& plan, std::string_view directory) {
  debug_log("plan {}: digest {}, topology {}, {} workers, {} variants", directory, plan.digest, plan.topology,
            plan.workers, plan.variants.size());
}

void log_comm(CommLog& log, int rank, int ranks, std::string_view transport, const Plan* plan) {
  log.rank = rank;
  set_debug_rank(rank);
  debug_log("rank {} of {} over {}, {}", rank, ranks, transport,
            plan ? "plan " + plan->digest : std::string("without a plan"));
}

void log_call(CommLog& log, const Call& call, const CallReport& report) {
  if (!debug_log_is_on() || log.calls.size() > kShapes ||
      !log.calls.emplace(call.count, call.type, call.reduction).second)
    return;
  if (log.calls.size() > kShapes)
    return debug_log("all-reduces of more than {} different counts, types and operations; no more are named",
                     kShapes);
  const std::string variant = report.variant ? report.variant->name
                              : report.plain ? "the transport's own all-reduce"
                                             : "nothing to send";
  debug_log("all-reduce of {} elements of {}, {}: {}, {} components, {} lanes, claimed error {:.2e}",
            call.count, name_of(call.type), call.reduction == Reduction::average ? "average" : "sum", variant,
            report.variant ? report.variant->shape.components : 0, report.lanes, report.claim.total);
}

}  // namespace cerar::runtime
