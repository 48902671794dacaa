#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "tests/software_gpu/memory/context.h"
#include "tests/software_gpu/streams/completion.h"

namespace software_gpu {

class Capture;

/// Pieces of work of one order run one after another whatever their streams.
struct Order {
  std::shared_ptr<Completion> last;  // guarded by world()
};

/// What a stream is given to do. Under capture `run` is kept and called at every replay.
struct Work {
  std::function<CuResult()> run;  ///< empty: only a point in the stream
  std::vector<std::shared_ptr<Order>> orders;
  std::vector<std::shared_ptr<Completion>> after;  ///< of other streams; not under capture
  bool urgent = false;  ///< others wait for it: it is counted on streams below the greatest priority
};

/// A queue with a thread of its own, which lives until the queue has run empty after retire().
class Stream {
 public:
  Stream(std::shared_ptr<Context> of, unsigned with_flags, bool is_legacy, int with_priority = 0);
  ~Stream();

  const std::shared_ptr<Context> context;
  const unsigned flags;
  const bool legacy;  ///< the null stream
  const int priority;

  bool blocking() const { return !legacy && !(flags & kCuStreamNonBlocking); }

  // Guarded by world().
  std::shared_ptr<Completion> last;  ///< of what was given to it last; null: nothing yet
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> tips;  ///< nodes of the capture that its next node comes after

  void push(std::vector<std::shared_ptr<Completion>> after, std::function<CuResult()> run,
            std::shared_ptr<Completion> finished);
  /// Its thread ends when the queue is empty.
  void retire();

 private:
  struct Queue;
  const std::shared_ptr<Queue> queue_;
};

Handles<CuStream, Stream>& streams();

// All of these with world() held.

/// The stream of a handle, the null stream of the current context included.
CuResult find_stream(CuStream handle, std::shared_ptr<Stream>* stream);
/// Gives work to a stream, or to the capture that it is part of. `finished` (may be null) is set outside of
/// captures only.
CuResult submit(const std::shared_ptr<Stream>& stream, Work work,
                std::shared_ptr<Completion>* finished = nullptr);
/// Everything that the streams of a context have been given.
std::vector<std::shared_ptr<Completion>> work_of(const Context& context);
/// What a wait for one stream waits for.
std::vector<std::shared_ptr<Completion>> work_of(const Stream& stream);
void retire_streams(const Context& context);

}  // namespace software_gpu
