#include "runtime/executor/host/host_executor.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/executor/host/lane.h"
#include "runtime/executor/variant_choice.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

// Messages below this size cost more in hand-over than their overlap gains.
constexpr std::uint64_t kMinMessageBytes = 32 << 10;

// The ring, as one rank sees it. At visit t = 1..T of a lane:
//   wait for the message of visit t (none at t = 1), in buffer t mod 2
//   wait until the message of visit t-1 has left buffer (t-1) mod 2, and offer that buffer for visit t+1
//   run the kernel of this step, which combines the message in place
//   send buffer t mod 2 (nothing after t = T)
// Lanes take turns within a visit, so that one lane's kernel runs while the others' messages are on the way.
class HostExecutor final : public Executor {
 public:
  HostExecutor(std::shared_ptr<const Plan> plan, std::shared_ptr<const HostKernels> kernels,
               std::unique_ptr<Transport> transport)
      : plan_(std::move(plan)), kernels_(std::move(kernels)), transport_(std::move(transport)) {}

  CallReport all_reduce(const Call& call) override {
    if (failure_)
      throw Error(ErrorCode::peer_failed, fmt::format("this communicator failed before: {}", *failure_));
    CallReport report{.operation = operation_++};
    // A disagreement is found before any data moves and leaves the communicator as it was.
    transport_->agree({.operation = report.operation,
                       .count = call.count,
                       .type = std::string(name_of(plan_->data_type)),
                       .reduction = call.reduction == Reduction::average ? "average" : "sum"});
    try {
      run(call, report);
      return report;
    } catch (const std::exception& error) {
      failure_ = error.what();
      transport_->abort(error.what());
      throw;
    }
  }

 private:
  void run(const Call& call, CallReport& report) {
    if (call.count == 0) return;
    if (transport_->size() == 1) {
      if (call.receive != call.send) std::memcpy(call.receive, call.send, call.count * sizeof(float));
      return;
    }
    const Variant& variant = variant_for(*plan_, call.count * sizeof(float));
    auto& lanes = prepare(variant, call.count);
    report.variant = &variant;
    report.lanes = static_cast<int>(lanes.size());
    for (auto& lane : lanes) {
      report.scratch_bytes += lane.scratch_bytes();
      lane.load_tail(call);
    }
    const float divisor =
        call.reduction == Reduction::average ? static_cast<float>(transport_->size()) : 1.0f;
    for (int visit = 1; visit <= variant.shape.visits; ++visit) {
      const Step step = step_at(variant.shape, variant.messages, transport_->rank(), visit);
      for (std::size_t i = 0; i < lanes.size(); ++i)
        run_visit(lanes[i], static_cast<int>(i), call, variant, step, visit, divisor, report);
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) transport_->wait_sent(static_cast<int>(i));
    for (const auto& lane : lanes) lane.store_tail(call);
  }

  void run_visit(Lane& lane, int index, const Call& call, const Variant& variant, const Step& step, int visit,
                 float divisor, CallReport& report) {
    if (step.receives) transport_->wait_received(index);
    if (step.sends) {
      if (visit > 1) transport_->wait_sent(index);
      transport_->post_receive(index, lane.message(visit + 1));
    }
    const auto kernel = kernels_->of(variant)[static_cast<std::size_t>(step.role)];
    kernel(lane.arguments(call, step, visit, divisor));
    if (!step.sends) return;
    const auto message = lane.message(visit);
    transport_->post_send(index, message);
    report.sent_bytes += message.size();
    ++report.messages;
  }

  // Lanes are kept from call to call: a steady call of one size allocates nothing.
  std::vector<Lane>& prepare(const Variant& variant, std::uint64_t count) {
    if (lanes_.empty() || lanes_variant_ != &variant || lanes_count_ != count) {
      lanes_ = make_lanes(variant, count, variant.lanes, kMinMessageBytes);
      lanes_variant_ = &variant;
      lanes_count_ = count;
    }
    return lanes_;
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const HostKernels> kernels_;
  std::unique_ptr<Transport> transport_;
  std::uint64_t operation_ = 0;
  std::optional<std::string> failure_;
  std::vector<Lane> lanes_;
  const Variant* lanes_variant_ = nullptr;
  std::uint64_t lanes_count_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_host_executor(std::shared_ptr<const Plan> plan,
                                             std::shared_ptr<const HostKernels> kernels,
                                             std::unique_ptr<Transport> transport) {
  return std::make_unique<HostExecutor>(std::move(plan), std::move(kernels), std::move(transport));
}

}  // namespace cerar::runtime
