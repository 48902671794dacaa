#include "tests/software_gpu/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "tests/software_gpu/base/injection.h"
#include "tests/software_gpu/base/settings.h"

namespace software_gpu::memory {
namespace {

constexpr std::size_t kDeviceBytes = 16ull << 30;       // addresses, not memory
constexpr std::size_t kQuarantineBytes = 256ull << 20;  // freed memory of a device that is kept as it is
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = kPage;
constexpr unsigned char kGuardByte = 0xa5;

struct Held {
  Block block;
  CuAddress span_begin, span_end;  // with guards, whole pages
  bool live;
};

struct Arena {
  CuAddress begin = 0, cursor = 0;
  std::map<CuAddress, Held> held;  // by beginning of the span; live and quarantined
  std::deque<CuAddress> quarantine;
  std::size_t quarantined = 0;
};

struct State {
  std::mutex mutex;
  std::array<Arena, kMostDevices> arenas;
};
State& state() {
  static State& made = *new State;
  return made;
}

char* pointer(CuAddress address) { return reinterpret_cast<char*>(address); }

void fill(const Block& block, unsigned word) {
  char* to = pointer(block.begin);
  for (std::size_t at = 0; at < block.bytes; at += sizeof word)
    std::memcpy(to + at, &word, std::min(sizeof word, block.bytes - at));
}

bool guard_intact(CuAddress begin, CuAddress end) {
  return std::all_of(pointer(begin), pointer(end),
                     [](char byte) { return static_cast<unsigned char>(byte) == kGuardByte; });
}

void check(const Held& held) {
  const CuAddress end = held.block.begin + held.block.bytes;
  const bool before = guard_intact(held.span_begin, held.block.begin);
  const bool behind = guard_intact(end, held.span_end);
  if (before && behind) return;
  count(&SoftwareGpuCounters::guard_faults);
  std::fprintf(stderr, "software GPU %d: written %s an allocation of %zu bytes at %#llx\n", held.block.device,
               before ? "behind" : "before", held.block.bytes, held.block.begin);
}

/// The first gap of this size at or behind the cursor, then from the beginning; 0 when there is none.
CuAddress find_gap(const Arena& arena, std::size_t bytes) {
  for (CuAddress at : {arena.cursor, arena.begin}) {
    auto next = arena.held.lower_bound(at);
    if (next != arena.held.begin()) at = std::max(at, std::prev(next)->second.span_end);
    for (; next != arena.held.end() && next->second.span_begin < at + bytes; ++next)
      at = next->second.span_end;
    if (at + bytes <= arena.begin + kDeviceBytes) return at;
  }
  return 0;
}

/// Gives memory that was freed long ago back to the system, not its addresses.
void forget_oldest(Arena& arena) {
  while (arena.quarantined > kQuarantineBytes && arena.quarantine.size() > 1) {
    const auto oldest = arena.held.find(arena.quarantine.front());
    const Held& held = oldest->second;
    const std::size_t bytes = held.span_end - held.span_begin;
    madvise(pointer(held.span_begin), bytes, MADV_DONTNEED);
    mprotect(pointer(held.span_begin), bytes, PROT_NONE);
    arena.quarantined -= bytes;
    arena.held.erase(oldest);
    arena.quarantine.pop_front();
  }
}

void retire(Arena& arena, Held& held) {
  check(held);
  fill(held.block, kFreed);
  held.live = false;
  arena.quarantine.push_back(held.span_begin);
  arena.quarantined += held.span_end - held.span_begin;
}

Held* holder(Arena& arena, CuAddress address) {
  auto next = arena.held.upper_bound(address);
  if (next == arena.held.begin()) return nullptr;
  Held& held = std::prev(next)->second;
  return held.live && address >= held.block.begin && address < held.span_end ? &held : nullptr;
}

}  // namespace

CuResult allocate(int device, std::size_t bytes, bool managed, bool of_nccl, CuAddress* address) {
  if (bytes == 0) return kCuInvalidValue;
  if (bytes > kDeviceBytes) return kCuOutOfMemory;
  const std::size_t span = (kGuard + bytes + kGuard + kPage - 1) / kPage * kPage;
  const std::lock_guard hold(state().mutex);
  Arena& arena = state().arenas[static_cast<std::size_t>(device)];
  if (!arena.begin) {
    void* reserved =
        mmap(nullptr, kDeviceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return kCuOutOfMemory;
    arena.begin = arena.cursor = reinterpret_cast<CuAddress>(reserved);
  }
  const CuAddress at = find_gap(arena, span);
  if (!at || mprotect(pointer(at), span, PROT_READ | PROT_WRITE)) return kCuOutOfMemory;
  const Held held = {{at + kGuard, bytes, device, managed, of_nccl}, at, at + span, true};
  std::memset(pointer(at), kGuardByte, kGuard);
  std::memset(pointer(held.block.begin + bytes), kGuardByte, at + span - held.block.begin - bytes);
  fill(held.block, kFresh);
  arena.cursor = at + span;
  arena.held[at] = held;
  *address = held.block.begin;
  return kCuSuccess;
}

CuResult release(CuAddress address) {
  const std::lock_guard hold(state().mutex);
  for (Arena& arena : state().arenas) {
    Held* held = holder(arena, address);
    if (!held || held->block.begin != address) continue;
    retire(arena, *held);
    forget_oldest(arena);
    return kCuSuccess;
  }
  return kCuInvalidValue;
}

void release_device(int device) {
  const std::lock_guard hold(state().mutex);
  Arena& arena = state().arenas[static_cast<std::size_t>(device)];
  for (auto& [begin, held] : arena.held)
    if (held.live) retire(arena, held);
  forget_oldest(arena);
}

std::optional<Block> find(CuAddress address, std::size_t bytes) {
  const std::lock_guard hold(state().mutex);
  for (Arena& arena : state().arenas) {
    const Held* held = holder(arena, address);
    if (!held) continue;
    const std::size_t offset = address - held->block.begin;
    if (offset >= held->block.bytes || bytes > held->block.bytes - offset) continue;
    return held->block;
  }
  return std::nullopt;
}

bool is_device_address(CuAddress address) {
  const std::lock_guard hold(state().mutex);
  return std::any_of(state().arenas.begin(), state().arenas.end(), [&](const Arena& arena) {
    return arena.begin && address >= arena.begin && address < arena.begin + kDeviceBytes;
  });
}

Live live() {
  const std::lock_guard hold(state().mutex);
  Live sum{};
  for (const Arena& arena : state().arenas)
    for (const auto& [begin, held] : arena.held)
      if (held.live) ++sum.allocations, sum.bytes += static_cast<long long>(held.block.bytes);
  return sum;
}

long long check_guards() {
  const std::lock_guard hold(state().mutex);
  for (const Arena& arena : state().arenas)
    for (const auto& [begin, held] : arena.held)
      if (held.live) check(held);
  return counted().guard_faults;
}

}  // namespace software_gpu::memory
