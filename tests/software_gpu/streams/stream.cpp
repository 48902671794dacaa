#include "tests/software_gpu/streams/stream.h"

#include <thread>

#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/streams/capture.h"

namespace software_gpu {
namespace {

struct Operation {
  std::vector<std::shared_ptr<Completion>> after;
  std::function<CuResult()> run;
  std::shared_ptr<Completion> finished;
};

}  // namespace

struct Stream::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Operation> operations;
  bool started = false, retired = false;

  static void work(const std::shared_ptr<Queue>& queue, const std::shared_ptr<Context>& context) {
    for (;;) {
      Operation next;
      {
        std::unique_lock hold(queue->mutex);
        queue->changed.wait(hold, [&] { return queue->retired || !queue->operations.empty(); });
        if (queue->operations.empty()) return;
        next = std::move(queue->operations.front());
        queue->operations.pop_front();
      }
      for (const auto& before : next.after) before->wait();
      if (next.run) {
        random_delay();
        // What comes after a failure does not run, but those who wait for it are told that it is over.
        if (!context->failure)
          if (const CuResult result = next.run(); result != kCuSuccess) context->fail(result);
      }
      next.finished->finish();
    }
  }
};

Stream::Stream(std::shared_ptr<Context> of, unsigned with_flags, bool is_legacy, int with_priority)
    : context(std::move(of)),
      flags(with_flags),
      legacy(is_legacy),
      priority(with_priority),
      queue_(std::make_shared<Queue>()) {}

Stream::~Stream() { retire(); }

void Stream::push(std::vector<std::shared_ptr<Completion>> after, std::function<CuResult()> run,
                  std::shared_ptr<Completion> finished) {
  const std::lock_guard hold(queue_->mutex);
  queue_->operations.push_back({std::move(after), std::move(run), std::move(finished)});
  if (!queue_->started) std::thread(Queue::work, queue_, context).detach();
  queue_->started = true;
  queue_->changed.notify_all();
}

void Stream::retire() {
  const std::lock_guard hold(queue_->mutex);
  queue_->retired = true;
  queue_->changed.notify_all();
}

Handles<CuStream, Stream>& streams() {
  static auto& made = *new Handles<CuStream, Stream>;
  return made;
}

CuResult find_stream(CuStream handle, std::shared_ptr<Stream>* stream) {
  std::shared_ptr<Context> context;
  if (const CuResult result = current(&context); result != kCuSuccess) return result;
  constexpr std::uintptr_t kLegacyHandle = 1;  // CU_STREAM_LEGACY
  if (!handle || reinterpret_cast<std::uintptr_t>(handle) == kLegacyHandle) {
    *stream = context->legacy;
    return kCuSuccess;
  }
  *stream = streams().find(handle);
  if (!*stream) return kCuInvalidHandle;
  return (*stream)->context->state();
}

CuResult submit(const std::shared_ptr<Stream>& stream, Work work, std::shared_ptr<Completion>* finished) {
  if (const CuResult state = stream->context->state(); state != kCuSuccess) return state;
  if (work.urgent && stream->priority > kGreatestPriority) count(&SoftwareGpuCounters::patient_work);
  if (stream->capture) return stream->capture->add(*stream, std::move(work));
  if (stream->legacy) {
    if (const CuResult result = forbid_legacy(*stream->context); result != kCuSuccess) return result;
    for (const auto& [handle, other] : streams().all())
      if (other->context == stream->context && other->blocking() && other->last)
        work.after.push_back(other->last);
  } else if (stream->blocking() && stream->context->legacy->last) {
    work.after.push_back(stream->context->legacy->last);
  }
  auto done = std::make_shared<Completion>();
  for (const auto& order : work.orders) {
    if (order->last) work.after.push_back(order->last);
    order->last = done;
  }
  stream->last = done;
  if (finished) *finished = done;
  stream->push(std::move(work.after), std::move(work.run), std::move(done));
  return kCuSuccess;
}

std::vector<std::shared_ptr<Completion>> work_of(const Context& context) {
  std::vector<std::shared_ptr<Completion>> work = context.draining;
  if (context.legacy->last) work.push_back(context.legacy->last);
  for (const auto& [handle, stream] : streams().all())
    if (stream->context.get() == &context && stream->last) work.push_back(stream->last);
  return work;
}

std::vector<std::shared_ptr<Completion>> work_of(const Stream& stream) {
  std::vector<std::shared_ptr<Completion>> work;
  if (stream.last) work.push_back(stream.last);
  if (stream.legacy)
    for (const auto& [handle, other] : streams().all())
      if (other->context == stream.context && other->blocking() && other->last) work.push_back(other->last);
  return work;
}

void retire_streams(const Context& context) {
  for (const auto& [handle, stream] : streams().all()) {
    if (stream->context.get() != &context) continue;
    if (stream->capture) stream->capture->invalidate();
    stream->retire();
  }
  // The handles stay known, so that their use tells of the destroyed context.
  context.legacy->retire();
}

}  // namespace software_gpu
