#include "tests/software_gpu/streams/capture.h"

#include <algorithm>
#include <utility>

namespace software_gpu {
namespace {

thread_local CuCaptureMode thread_mode = kCuCaptureGlobal;

std::set<std::shared_ptr<Capture>>& captures() {
  static auto& made = *new std::set<std::shared_ptr<Capture>>;
  return made;
}

}  // namespace

CuResult Capture::begin(const std::shared_ptr<Stream>& origin, CuCaptureMode mode) {
  if (origin->legacy) return kCuCaptureUnsupported;
  if (origin->capture) return kCuInvalidValue;
  const auto capture = std::make_shared<Capture>();
  capture->origin_ = origin;
  capture->streams_ = {origin};
  capture->mode_ = mode;
  capture->thread_ = std::this_thread::get_id();
  capture->graph_ = std::make_shared<Graph>();
  origin->capture = capture;
  origin->tips.clear();
  captures().insert(capture);
  return kCuSuccess;
}

CuResult Capture::end(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  const auto alive = shared_from_this();
  if (stream != origin_) return kCaptureUnmatched;
  if (mode_ != kCuCaptureRelaxed && thread_ != std::this_thread::get_id()) return kCaptureWrongThread;
  const bool complete = joined();
  for (const auto& member : streams_) {
    member->capture.reset();
    member->tips.clear();
  }
  active_ = false;
  captures().erase(alive);
  streams_.clear();
  origin_.reset();
  if (!valid_) return kCuCaptureInvalidated;
  if (!complete) return kCuCaptureUnjoined;
  *graph = graph_;
  return kCuSuccess;
}

unsigned long long Capture::next_id() {
  static unsigned long long last = 0;
  return ++last;
}

CuResult Capture::add(Stream& stream, Work work) {
  if (!valid_) return kCuCaptureInvalidated;
  Graph::Node node{std::move(work.run), stream.context, stream.tips};
  const std::size_t index = graph_->nodes.size();
  for (const auto& order : work.orders) {
    if (const auto before = ordered_.find(order); before != ordered_.end()) node.after.insert(before->second);
    ordered_[order] = index;
    graph_->orders.insert(order);
  }
  graph_->nodes.push_back(std::move(node));
  stream.tips = {index};
  return kCuSuccess;
}

CuResult Capture::join(const std::shared_ptr<Stream>& stream, const std::set<std::size_t>& nodes) {
  if (!valid_) return kCuCaptureInvalidated;
  if (stream->legacy) {
    invalidate();
    return kCaptureImplicit;
  }
  if (stream->capture && stream->capture.get() != this) {
    stream->capture->invalidate();
    invalidate();
    return kCuCaptureIsolation;
  }
  if (!stream->capture) {
    stream->capture = shared_from_this();
    stream->tips.clear();
    streams_.push_back(stream);
  }
  stream->tips.insert(nodes.begin(), nodes.end());
  return kCuSuccess;
}

bool Capture::has(const Context& context) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    return stream->context.get() == &context && stream->blocking();
  });
}

/// Whether what the origin would do next comes after everything that other streams did.
bool Capture::joined() const {
  std::set<std::size_t> before = origin_->tips;
  for (std::size_t i = graph_->nodes.size(); i-- > 0;)
    if (before.count(i)) before.insert(graph_->nodes[i].after.begin(), graph_->nodes[i].after.end());
  return std::all_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    return std::includes(before.begin(), before.end(), stream->tips.begin(), stream->tips.end());
  });
}

CuResult forbid_unsafe() {
  if (thread_mode == kCuCaptureRelaxed) return kCuSuccess;
  CuResult result = kCuSuccess;
  for (const auto& capture : captures()) {
    const bool own = capture->thread() == std::this_thread::get_id() && capture->mode() != kCuCaptureRelaxed;
    const bool other = thread_mode == kCuCaptureGlobal && capture->mode() == kCuCaptureGlobal;
    if (!own && !other) continue;
    capture->invalidate();
    result = kCuCaptureUnsupported;
  }
  return result;
}

CuResult forbid_legacy(const Context& context) {
  CuResult result = kCuSuccess;
  for (const auto& capture : captures()) {
    if (!capture->has(context)) continue;
    capture->invalidate();
    result = kCaptureImplicit;
  }
  return result;
}

CuResult forbid_captured(const Stream& stream) {
  if (stream.legacy) return forbid_legacy(*stream.context);
  if (!stream.capture) return kCuSuccess;
  stream.capture->invalidate();
  return kCuCaptureUnsupported;
}

CuCaptureMode exchange_mode(CuCaptureMode mode) { return std::exchange(thread_mode, mode); }

void forget_captures() {
  for (const auto& [handle, stream] : streams().all()) stream->capture.reset();
  captures().clear();
}

}  // namespace software_gpu
