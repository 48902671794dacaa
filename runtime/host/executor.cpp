#include "runtime/host/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/comm/call.h"
#include "runtime/comm/pieces.h"
#include "runtime/host/lane.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

// What one size of vector needs, kept from call to call: a steady call of one size allocates nothing.
struct Workspace {
  Workspace(const Variant& chosen, const HostKernelTable& table, const Call& call)
      : variant(chosen),
        kernels(table),
        count(call.count),
        type(call.type),
        pieces(cut(chosen, call.count)),
        padded(chosen, pieces.back()) {
    std::uint64_t rows = 0;
    for (const auto& piece : pieces) rows = std::max(rows, piece.rows);
    const auto used = std::min<std::size_t>(pieces.size(), static_cast<std::size_t>(chosen.lanes));
    for (std::size_t i = 0; i < used; ++i) lanes.emplace_back(chosen, type, rows, pieces.back().tail != 0);
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = padded.bytes();
    for (const auto& lane : lanes) sum += lane.bytes();
    return sum;
  }

  const Variant& variant;
  const HostKernelTable& kernels;
  std::uint64_t count;
  DataType type;
  std::vector<Piece> pieces;
  PaddedRow padded;
  std::vector<Lane> lanes;
  Turns turns;
};

// The ring, as one rank sees it. The vector is cut into pieces, and each lane takes one piece after the
// other, so that the part of the vector under way stays in the cache from visit to visit. At visit t = 1..T
// of a piece:
//   wait for the message of visit t (none at t = 1), in buffer t mod 2
//   wait until the lane's last message has left the other buffer, and offer that for visit t+1
//   run the kernel of this step, which combines the message in place
//   send buffer t mod 2 (nothing after t = T)
// Lanes take turns (Turns in comm/pieces.h).
class HostExecutor final : public Executor {
 public:
  HostExecutor(std::shared_ptr<const Plan> plan, std::shared_ptr<const HostKernels> kernels,
               std::unique_ptr<Transport> transport)
      : plan_(std::move(plan)), kernels_(std::move(kernels)), transport_(std::move(transport)) {}

  ~HostExecutor() override {
    // Leaked on purpose: memory that is used again would be overwritten by a message of the failed call.
    if (workspace_ && transport_->holds_buffers())
      static_cast<void>(new (std::nothrow) Workspace(std::move(*workspace_)));
  }

  CallReport all_reduce(const Call& call) override {
    if (failure_) {
      transport_->abort(failure_->what());  // for ranks that could not be told before
      throw Error(failure_->code() == ErrorCode::aborted ? ErrorCode::aborted : ErrorCode::peer_failed,
                  fmt::format("this communicator failed before: {}", failure_->what()));
    }
    CallReport report{.call_index = call_index_++};
    // A disagreement is found before any data moves and leaves the communicator as it was.
    try {
      require_agreement(transport_->exchange(describe(call, report.call_index, plan_.get())));
      run(call, report);
      return report;
    } catch (const Error& error) {
      const auto own = interrupted();
      if (error.code() == ErrorCode::mismatch && !report.variant && !own) throw;
      const Error& first = own ? *own : error;
      std::string sentence = with_call(first.what(), report.call_index, plan_.get());
      if (first.code() == ErrorCode::timeout) sentence = with_timeout_advice(std::move(sentence));
      const Error complete(first.code(), sentence);
      fail(complete);
      throw complete;
    } catch (const std::exception& exhausted) {
      if (!dynamic_cast<const std::bad_alloc*>(&exhausted) &&
          !dynamic_cast<const std::length_error*>(&exhausted)) {
        fail(Error(ErrorCode::internal, exhausted.what()));
        throw;
      }
      const Error error(
          ErrorCode::system,
          fmt::format("memory is exhausted on rank {} by a vector of {} bytes; use smaller ones.",
                      transport_->rank(), call.count * size_of(call.type)));
      fail(error);
      throw error;
    }
  }

  void interrupt(std::string_view act) noexcept override {
    try {
      const Error reason(ErrorCode::aborted, fmt::format("rank {} {}.", transport_->rank(), act));
      {
        const std::lock_guard lock(mutex_);
        if (!interrupted_) interrupted_ = reason;
      }
      transport_->interrupt(reason.what());
    } catch (const std::exception&) {  // no memory for the sentence
      transport_->interrupt("a rank gave up.");
    }
  }

  void announce_abort() noexcept override {
    const auto own = interrupted();
    if (own && !failure_) fail(*own);
  }

  std::optional<Error> failure() override { return interrupted(); }

 private:
  void fail(const Error& error) {
    failure_ = error;
    transport_->abort(error.what());
  }

  std::optional<Error> interrupted() const {
    const std::lock_guard lock(mutex_);
    return interrupted_;
  }

  void run(const Call& call, CallReport& report) {
    if (call.count == 0) return;
    if (transport_->size() == 1) {
      if (call.receive != call.send) std::memcpy(call.receive, call.send, call.count * size_of(call.type));
      return;
    }
    Workspace& workspace = workspace_for(call);
    report.variant = &workspace.variant;
    report.claim = claim_for(workspace.variant, call, call.type != DataType::f32);
    report.lanes = static_cast<int>(workspace.lanes.size());
    report.scratch_bytes = workspace.bytes();
    workspace.padded.load(call);
    const float divisor =
        call.reduction == Reduction::average ? static_cast<float>(transport_->size()) : 1.0f;
    workspace.turns.run(workspace.lanes.size(), workspace.pieces.size(), workspace.variant.shape.visits,
                        [&](std::size_t lane, std::size_t piece, int visit) {
                          run_visit(call, workspace, lane, workspace.pieces[piece], visit, divisor, report);
                        });
    for (std::size_t i = 0; i < workspace.lanes.size(); ++i) transport_->wait_sent(static_cast<int>(i));
    workspace.padded.store(call);
  }

  void run_visit(const Call& call, Workspace& workspace, std::size_t index, const Piece& piece, int visit,
                 float divisor, CallReport& report) {
    const Variant& variant = workspace.variant;
    Lane& lane = workspace.lanes[index];
    const int stream = static_cast<int>(index);
    const Step step = step_at(variant.shape, variant.messages, transport_->rank(), visit);
    if (visit == 1) lane.begin(call, piece);
    if (step.receives) transport_->wait_received(stream);
    if (step.sends) {
      transport_->wait_sent(stream);
      transport_->post_receive(stream, lane.message(piece, visit + 1));
    }
    const auto kernel = workspace.kernels[static_cast<std::size_t>(step.role)];
    kernel(lane.arguments(piece, workspace.padded, step, visit, divisor));
    if (!step.sends) return lane.end(call, piece);
    const auto message = lane.message(piece, visit);
    transport_->post_send(stream, message);
    report.sent_bytes += message.size();
    ++report.messages;
  }

  Workspace& workspace_for(const Call& call) {
    const Variant& variant = variant_for(*plan_, call.count * size_of(plan_->data_type));
    if (!workspace_ || &workspace_->variant != &variant || workspace_->count != call.count ||
        workspace_->type != call.type) {
      workspace_.reset();  // frees before it allocates
      workspace_.emplace(variant, kernels_->of(variant), call);
    }
    return *workspace_;
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const HostKernels> kernels_;
  std::unique_ptr<Transport> transport_;
  std::uint64_t call_index_ = 0;
  std::optional<Error> failure_;
  std::optional<Workspace> workspace_;

  mutable std::mutex mutex_;
  std::optional<Error> interrupted_;  // by another thread, under the mutex
};

}  // namespace

std::unique_ptr<Executor> make_host_executor(std::shared_ptr<const Plan> plan,
                                             std::shared_ptr<const HostKernels> kernels,
                                             std::unique_ptr<Transport> transport) {
  return std::make_unique<HostExecutor>(std::move(plan), std::move(kernels), std::move(transport));
}

}  // namespace cerar::runtime
