#include "runtime/gpu/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/comm/call.h"
#include "runtime/comm/pieces.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/executor/device_kernels.h"
#include "runtime/gpu/executor/device_lane.h"
#include "runtime/gpu/executor/device_work.h"
#include "runtime/gpu/executor/watchdog.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

void check_stream(CuStream stream, const Device& device) {
  if (!stream) return;  // the default stream of whatever context is current
  CuContext context = nullptr;
  const CuResult result = driver().cuStreamGetCtx(stream, &context);
  if (result != kCuSuccess)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("stream {} is not a valid CUDA stream: {}; pass a live stream of device {}.",
                            static_cast<void*>(stream), words_of(result), device.ordinal()));
  if (context != device.context())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("stream {} belongs to another device or context; pass one of device {}.",
                            static_cast<void*>(stream), device.ordinal()));
}

void check_vector(const void* vector, const char* name, const Device& device) {
  const CuAddress address = reinterpret_cast<std::uintptr_t>(vector);
  // Managed memory first: its type may be either, whatever devices can do with it.
  unsigned managed = 0, type = 0;
  if (driver().cuPointerGetAttribute(&managed, kCuPointerIsManaged, address) == kCuSuccess && managed) return;
  const CuResult result = driver().cuPointerGetAttribute(&type, kCuPointerMemoryType, address);
  if (result != kCuSuccess || type != kCuMemoryDevice)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} is not device memory; copy the vector to device {} first, or use a host "
                            "communicator.",
                            name, vector, device.ordinal()));
  int ordinal = device.ordinal();
  if (driver().cuPointerGetAttribute(&ordinal, kCuPointerDeviceOrdinal, address) == kCuSuccess &&
      ordinal != device.ordinal())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} is memory of device {}, but the communicator's is device {}.", name,
                            vector, ordinal, device.ordinal()));
}

// What tells the capture of a stream from others, 0 where it is not being captured. Throws
// `invalid_argument` when the capture has failed.
std::uint64_t capture_of(CuStream stream) {
  CuCaptureStatus status = kCuCaptureNone;
  unsigned long long id = 0;
  check(driver().cuStreamGetCaptureInfo(stream, &status, &id), "asking whether the stream is being captured");
  if (status == kCuCaptureStatusInvalidated)
    throw Error(ErrorCode::invalid_argument,
                "the capture of the stream has failed already; end it before the next call.");
  return status == kCuCaptureActive ? id : 0;
}

// The capture of the call's stream. Throws `invalid_argument` unless the stream is of the device and the
// vectors lie in its memory; nothing has been enqueued then. The device's context must be current.
std::uint64_t check_call(const Call& call, const Device& device) {
  const auto stream = static_cast<CuStream>(call.stream);
  check_stream(stream, device);
  if (call.count > 0) {
    check_vector(call.send, "send", device);
    check_vector(call.receive, "recv", device);
  }
  return capture_of(stream);
}

// The ring, as one rank enqueues it. The vector is cut into pieces, and each lane takes one, or one after the
// other. Everything begins behind what the caller's stream holds and ends before what is enqueued there next.
// At visit t = 1..T of a piece:
//   kernels wait for the message of visit t (none at t = 1), in buffer t mod 2
//   the kernel of this step combines the message in place
//   messages wait for the kernel, unless it leaves the message as it is;
//   one round of the transport sends buffer t mod 2 and receives into the other
//   (nothing after t = T)
// Lanes take turns (Turns in comm/pieces.h). The host never waits.
class CudaExecutor final : public Executor {
 public:
  CudaExecutor(std::shared_ptr<const LoadedPlan> plan, std::unique_ptr<DeviceTransport> transport,
               std::chrono::milliseconds timeout, bool meets)
      : plan_(plan ? plan->plan : nullptr),
        transport_(std::move(transport)),
        device_(transport_->device()),
        forked_(device_),
        watchdog_(device_, *transport_, timeout, words_of(plan_.get())) {
    if (meets) meet();
    if (plan) kernels_.emplace(device_, std::move(plan));
  }

  ~CudaExecutor() override {
    const OutsideCaptures outside;
    watchdog_.drain();
    watchdog_.stop();  // after a failure it has ended what is enqueued, which freeing memory may wait for
    // More calls than the watch follows, and replays of graphs.
    if (!watchdog_.failure())
      for (const auto& lane : lanes_) lane.finish();
    transport_.reset();  // before the memory that its kernels work on
    lanes_.clear();
    kernels_.reset();
  }

  CallReport all_reduce(const Call& call) override {
    require_healthy();
    const OnDevice current(*device_);
    const std::uint64_t capture = check_call(call, *device_);
    const bool captured = capture != 0;
    CallReport report{.call_index = call_index_};
    if (call.count == 0 || transport_->size() == 1) {
      copy_alone(call);
      ++call_index_;
      return report;
    }
    if (captured && !transport_->can_be_captured())
      throw Error(ErrorCode::unsupported,
                  "the stream is being captured into a graph, which only NCCL communicators can follow; call "
                  "outside the capture.");
    require_lanes_in(capture);
    const CallShape& shape = prepared(call, captured, stream_of(call));
    ++call_index_;
    Watchdog::Call* const watched = captured ? nullptr : watchdog_.take(report.call_index);
    try {
      enqueue(call, shape, watched ? watched->started : forked_, report);
      if (watched) record(watched->finished, stream_of(call));
      watchdog_.under_way(watched);
    } catch (const Error& error) {
      // Whatever was enqueued may wait for what was not.
      watchdog_.drop(watched);
      fail(error, report.call_index);
    }
    return report;
  }

  void prepare(const Call& call) override {
    require_healthy();
    const OnDevice current(*device_);
    if (call.count == 0 || transport_->size() == 1) return;
    const bool known = shapes_.contains({call.count, call.type, call.reduction});
    if (prepared(call, false, std::nullopt).variant || known) return;
    // What NCCL would set up in the first call of this size.
    const OutsideCaptures outside;
    try {
      transport_->prepare_all_reduce(call.count, call.type, call.reduction == Reduction::average);
    } catch (const Error& error) {
      fail(error, call_index_);
    }
  }

  std::optional<Error> failure() override { return watchdog_.failure(); }

  // The watch's thread ends what is enqueued, and NCCL's calls.
  void interrupt(std::string_view act) noexcept override {
    try {
      watchdog_.fail(Error(ErrorCode::aborted, fmt::format("rank {} {}.", transport_->rank(), act)));
    } catch (const std::exception&) {  // no memory for the sentence
    }
  }

 private:
  using Key = std::tuple<std::uint64_t, DataType, Reduction>;

  [[noreturn]] void fail(const Error& error, std::uint64_t call_index) {
    watchdog_.fail(Error(error.code(), with_call(error.what(), call_index, plan_.get())));
    throw Error(*watchdog_.failure());  // the first one, of which this may be a consequence
  }

  // Ranks in processes: their plans must be the same.
  void meet() {
    try {
      require_agreement(
          transport_->exchange(describe_call(0, 0, "", "", plan_ ? plan_->digest : ""), std::nullopt));
    } catch (const Error& error) {
      transport_->abort(error.what());  // what is enqueued would wait for ranks that do not come
      if (const auto first = watchdog_.failure()) throw Error(*first);
      throw;
    }
  }

  // Until a capture ends, what it has captured of this communicator's streams is its own.
  void require_lanes_in(std::uint64_t capture) const {
    if (lanes_.empty()) return;
    const std::uint64_t theirs = capture_of(lanes_.front().kernels());
    if (theirs != 0 && theirs != capture)
      throw Error(ErrorCode::invalid_argument,
                  "a call of this communicator is in a capture that has not ended; end it before calls "
                  "outside of it.");
  }

  static CuStream stream_of(const Call& call) { return static_cast<CuStream>(call.stream); }

  void require_healthy() {
    if (const auto error = watchdog_.failure())
      throw Error(error->code() == ErrorCode::timeout || error->code() == ErrorCode::aborted
                      ? error->code()
                      : ErrorCode::peer_failed,
                  fmt::format("this communicator failed before: {}", error->what()));
  }

  void copy_alone(const Call& call) const {
    if (call.count == 0 || call.send == call.receive) return;
    check(driver().cuMemcpyDtoDAsync_v2(reinterpret_cast<std::uintptr_t>(call.receive),
                                        reinterpret_cast<std::uintptr_t>(call.send),
                                        call.count * size_of(call.type), stream_of(call)),
          "copying within a device");
  }

  // Sizes at which the plan itself says that the baseline is faster are the baseline's.
  const Variant* variant_of(const Call& call) const {
    if (!plan_) return nullptr;
    const std::uint64_t bytes = call.count * size_of(call.type);
    const bool by_baseline = transport_->has_all_reduce() &&
                             std::any_of(plan_->baseline_faster.begin(), plan_->baseline_faster.end(),
                                         [&](const ByteRange& range) {
                                           return bytes >= range.min_bytes && bytes <= range.max_bytes;
                                         });
    return by_baseline ? nullptr : &variant_for(*plan_, call.count * size_of(plan_->data_type));
  }

  // What is done here for the first time comes behind what `behind` holds.
  const CallShape& prepared(const Call& call, bool captured, std::optional<CuStream> behind) {
    const Key key{call.count, call.type, call.reduction};
    const auto found = shapes_.find(key);
    const Variant* const variant = found == shapes_.end() ? variant_of(call) : found->second.variant;
    if (found != shapes_.end() && (!variant || room_for(found->second, works_in_place(*variant, call))))
      return found->second;
    if (captured && found != shapes_.end())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the stream is being captured, but there is no room for a copy of {} elements "
                              "whose vectors are not aligned to 16 bytes; align them, or call with them once "
                              "before the capture.",
                              call.count));
    if (captured)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the stream is being captured, but nothing is prepared for {} elements of {}; call "
                      "cerarCommPrepare for them before the capture.",
                      call.count, name_of(call.type)));
    const OutsideCaptures outside;
    if (found == shapes_.end())
      return shapes_.emplace(key, prepare_shape(call, variant, behind)).first->second;
    make_room(found->second, false);  // vectors that are not aligned, for the first time
    return found->second;
  }

  CallShape prepare_shape(const Call& call, const Variant* variant, std::optional<CuStream> behind) {
    CallShape shape;
    try {
      require_agreement(transport_->exchange(describe(call, call_index_, plan_.get()), behind));
      if (variant) {
        kernels_->of(*variant);
        shape = shape_of(*variant, call.count, call.type);
        make_room(shape, works_in_place(*variant, call));
      }
    } catch (const Error& error) {
      // A disagreement is found before anything is enqueued, on every rank; so is a group of NCCL's, at whose
      // end the ranks exchange what they were to exchange now.
      if (error.code() == ErrorCode::mismatch || error.code() == ErrorCode::invalid_argument) throw;
      fail(error, call_index_);
    }
    return shape;
  }

  bool room_for(const CallShape& shape, bool in_place) const {
    const LaneBytes bytes = lane_bytes(shape, in_place);
    return lanes_.size() >= shape.lanes &&
           std::all_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(shape.lanes),
                       [&](const DeviceLane& lane) { return lane.holds(bytes); });
  }

  void make_room(const CallShape& shape, bool in_place) {
    while (lanes_.size() < shape.lanes) lanes_.emplace_back(device_);
    for (std::size_t i = 0; i < shape.lanes; ++i) lanes_[i].reserve(lane_bytes(shape, in_place), *transport_);
  }

  void enqueue(const Call& call, const CallShape& shape, const DeviceEvent& started, CallReport& report) {
    const CuStream stream = stream_of(call);
    record(started, stream);
    if (!shape.variant) {
      report.by_baseline = true;
      transport_->all_reduce(reinterpret_cast<std::uintptr_t>(call.send),
                             reinterpret_cast<std::uintptr_t>(call.receive), call.count, call.type,
                             call.reduction == Reduction::average, stream);
      return;
    }
    report.variant = shape.variant;
    report.claim = claim_for(*shape.variant, call, !works_in_place(*shape.variant, call));
    report.lanes = static_cast<int>(shape.lanes);
    const DeviceKernelTable& kernels = kernels_->of(*shape.variant);
    for (std::size_t i = 0; i < shape.lanes; ++i) {
      wait(lanes_[i].kernels(), started);
      report.scratch_bytes += lanes_[i].bytes();
    }
    turns_.run(shape.lanes, shape.pieces.size(), shape.variant->shape.visits,
               [&](std::size_t lane, std::size_t piece, int visit) {
                 enqueue_visit(DevicePiece(shape, kernels, call, lanes_[lane], shape.pieces[piece]), lane,
                               visit, call, *shape.variant, report);
               });
    for (std::size_t i = 0; i < shape.lanes; ++i) {
      record(lanes_[i].finished, lanes_[i].kernels());
      wait(stream, lanes_[i].finished);
    }
  }

  void enqueue_visit(const DevicePiece& piece, std::size_t index, int visit, const Call& call,
                     const Variant& variant, CallReport& report) {
    DeviceLane& lane = lanes_[index];
    const float divisor =
        call.reduction == Reduction::average ? static_cast<float>(transport_->size()) : 1.0f;
    const Step step = step_at(variant.shape, variant.messages, transport_->rank(), visit);
    if (visit == 1) report.launches += static_cast<std::uint64_t>(piece.begin());
    const auto messages_wait_for_kernels = [&] {
      record(lane.combined, lane.kernels());
      wait(lane.messages(), lane.combined);
    };
    // A message that a kernel only keeps goes on as it came, beside that kernel. But the buffer that the next
    // one comes into must have been read by the kernel of the visit before, if that was not waited for
    // either.
    const bool keeps = step.role == Role::keep;
    if (keeps && step.sends &&
        step_at(variant.shape, variant.messages, transport_->rank(), visit - 1).role == Role::keep)
      messages_wait_for_kernels();
    if (step.receives) wait(lane.kernels(), lane.arrived);
    piece.run(step, visit, divisor);
    ++report.launches;
    if (!step.sends) {
      report.launches += static_cast<std::uint64_t>(piece.end());
      return;
    }
    if (!keeps) messages_wait_for_kernels();
    const std::uint64_t bytes = piece.message_bytes();
    transport_->pass(static_cast<int>(index), lane.messages(), lane.message(visit), lane.message(visit + 1),
                     bytes);
    record(lane.arrived, lane.messages());
    report.sent_bytes += bytes;
    ++report.messages;
  }

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<DeviceTransport> transport_;
  DeviceHandle device_;
  std::optional<DeviceKernels> kernels_;
  std::vector<DeviceLane> lanes_;
  std::map<Key, CallShape> shapes_;
  Turns turns_;
  std::uint64_t call_index_ = 0;
  DeviceEvent forked_;  // of calls that are not watched
  Watchdog watchdog_;   // last: its thread uses what is above
};

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(std::shared_ptr<const LoadedPlan> plan,
                                             std::unique_ptr<DeviceTransport> transport,
                                             std::chrono::milliseconds timeout, bool meets) {
  const OutsideCaptures outside;
  return std::make_unique<CudaExecutor>(std::move(plan), std::move(transport), timeout, meets);
}

}  // namespace cerar::runtime
