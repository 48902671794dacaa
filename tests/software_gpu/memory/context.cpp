#include "tests/software_gpu/memory/context.h"

#include <array>
#include <atomic>
#include <vector>

#include "tests/software_gpu/base/settings.h"
#include "tests/software_gpu/memory/memory.h"
#include "tests/software_gpu/memory/module.h"
#include "tests/software_gpu/streams/stream.h"

namespace software_gpu {
namespace {

struct Primary {
  std::shared_ptr<Context> context;
  int retained = 0;
};
std::array<Primary, kMostDevices>& primaries() {
  static auto& made = *new std::array<Primary, kMostDevices>;
  return made;
}

thread_local std::vector<std::shared_ptr<Context>> stack;

/// Returns what must be waited for before memory of the context may go.
std::vector<std::shared_ptr<Completion>> destroy(Primary& primary) {
  const auto context = std::move(primary.context);
  primary.retained = 0;
  context->alive = false;
  auto pending = work_of(*context);
  retire_streams(*context);
  context->legacy.reset();  // they hold each other; nobody asks a dead context for it
  forget_modules(*context);
  contexts().remove(context->handle);
  return pending;
}

std::shared_ptr<Context> find(CuContext handle) { return contexts().find(handle); }

}  // namespace

std::mutex& world() {
  static std::mutex& made = *new std::mutex;
  return made;
}

std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> next{0x1000};
  return next += 16;
}

Handles<CuContext, Context>& contexts() {
  static auto& made = *new Handles<CuContext, Context>;
  return made;
}

CuResult current(std::shared_ptr<Context>* context) {
  if (stack.empty() || !stack.back()) return kCuInvalidContext;
  *context = stack.back();
  return (*context)->state();
}

CuResult require_current() {
  std::shared_ptr<Context> context;
  return current(&context);
}

CuResult retain_primary(int device, CuContext* handle) {
  const std::lock_guard hold(world());
  Primary& primary = primaries()[static_cast<std::size_t>(device)];
  if (!primary.context) {
    primary.context = std::make_shared<Context>(device);
    primary.context->handle = contexts().add(primary.context);
    primary.context->legacy = std::make_shared<Stream>(primary.context, 0, true);
  }
  ++primary.retained;
  *handle = primary.context->handle;
  return kCuSuccess;
}

CuResult release_primary(int device) {
  std::vector<std::shared_ptr<Completion>> pending;
  {
    const std::lock_guard hold(world());
    Primary& primary = primaries()[static_cast<std::size_t>(device)];
    if (!primary.context) return kCuInvalidContext;
    if (--primary.retained > 0) return kCuSuccess;
    pending = destroy(primary);
  }
  for (const auto& work : pending) work->wait();
  memory::release_device(device);
  return kCuSuccess;
}

CuResult push_current(CuContext handle) {
  const std::lock_guard hold(world());
  const auto context = find(handle);
  if (!context) return kCuInvalidContext;
  stack.push_back(context);
  return kCuSuccess;
}

CuResult pop_current(CuContext* handle) {
  if (stack.empty()) return kCuInvalidContext;
  if (handle) *handle = stack.back() ? stack.back()->handle : nullptr;
  stack.pop_back();
  return kCuSuccess;
}

CuResult replace_current(CuContext handle) {
  if (!stack.empty()) stack.pop_back();
  return handle ? push_current(handle) : kCuSuccess;
}

void forget_contexts() {
  const std::lock_guard hold(world());
  for (Primary& primary : primaries()) {
    if (!primary.context) continue;
    const int device = primary.context->device;
    destroy(primary);
    memory::release_device(device);
  }
  stack.clear();
}

}  // namespace software_gpu
