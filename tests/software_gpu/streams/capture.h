#pragma once

#include <map>
#include <thread>

#include "tests/software_gpu/streams/stream.h"

namespace software_gpu {

/// What one capture recorded: nodes in an order that respects their dependencies.
struct Graph {
  struct Node {
    std::function<CuResult()> run;
    std::shared_ptr<Context> context;
    std::set<std::size_t> after;
  };
  std::vector<Node> nodes;
  std::set<std::shared_ptr<Order>> orders;  ///< that its launches take part in
};

/// A capture in progress or ended. Guarded by world().
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  /// Of a stream that captures nothing yet.
  static CuResult begin(const std::shared_ptr<Stream>& origin, CuCaptureMode mode);
  /// Null on failure; the streams capture no longer in any case.
  CuResult end(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);

  CuResult add(Stream& stream, Work work);
  /// Makes what `stream` does next come after these nodes; it joins the capture if it is in none.
  CuResult join(const std::shared_ptr<Stream>& stream, const std::set<std::size_t>& nodes);
  void invalidate() { valid_ = false; }

  bool active() const { return active_; }
  unsigned long long id() const { return id_; }
  bool valid() const { return valid_; }
  CuCaptureMode mode() const { return mode_; }
  std::thread::id thread() const { return thread_; }
  bool has(const Context& context) const;

 private:
  bool joined() const;
  static unsigned long long next_id();

  std::shared_ptr<Stream> origin_;
  std::vector<std::shared_ptr<Stream>> streams_;  // origin first
  CuCaptureMode mode_ = kCuCaptureGlobal;
  std::thread::id thread_;
  const unsigned long long id_ = next_id();
  bool active_ = true, valid_ = true;
  std::shared_ptr<Graph> graph_;
  std::map<std::shared_ptr<Order>, std::size_t> ordered_;  // last node of each order
};

// With world() held.

/// For calls that may wait for the device or change its memory: kCuCaptureUnsupported, and the capture is
/// invalid, where the modes of captures in progress and of the calling thread forbid them.
CuResult forbid_unsafe();
/// For uses of the null stream: kCaptureImplicit while a blocking stream of the context is captured.
CuResult forbid_legacy(const Context& context);
/// For calls that would wait for this stream: an error, and the capture is invalid, if it is captured.
CuResult forbid_captured(const Stream& stream);

CuCaptureMode exchange_mode(CuCaptureMode mode);
void forget_captures();

}  // namespace software_gpu
