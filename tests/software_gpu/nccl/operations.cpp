#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/software_gpu/memory/memory.h"
#include "tests/software_gpu/nccl/communicator.h"

namespace software_nccl {
namespace {

// What runs on each device.
struct Running {
  std::mutex mutex;
  std::multimap<int, const Communicator*> communicators;  // by device
  long long overlaps = 0;
};
Running& running() {
  static auto& made = *new Running;
  return made;
}

class Presence {
 public:
  explicit Presence(const Communicator& communicator) : communicator_(communicator) {
    const std::lock_guard hold(running().mutex);
    const auto [begin, end] = running().communicators.equal_range(communicator.device);
    if (std::any_of(begin, end, [&](const auto& other) { return other.second != &communicator; }))
      ++running().overlaps;
    running().communicators.emplace(communicator.device, &communicator);
  }
  ~Presence() {
    const std::lock_guard hold(running().mutex);
    const auto [begin, end] = running().communicators.equal_range(communicator_.device);
    running().communicators.erase(
        std::find_if(begin, end, [&](const auto& other) { return other.second == &communicator_; }));
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  const Communicator& communicator_;
};

bool live(const Communicator& communicator, const void* pointer, std::size_t bytes) {
  if (bytes == 0) return true;
  const auto block = software_gpu::memory::find(reinterpret_cast<CuAddress>(pointer), bytes);
  if (block && (block->device == communicator.device || block->managed)) return true;
  std::fprintf(stderr, "software NCCL: rank %d: %zu bytes at %p are no live memory of device %d\n",
               communicator.rank, bytes, pointer, communicator.device);
  return false;
}

bool live(const Communicator& communicator, const Task& task) {
  const std::size_t bytes = task.count * bytes_of(task.type);
  const auto ranks = static_cast<std::size_t>(communicator.ranks);
  const bool sends = task.kind != Task::receive, receives = task.kind != Task::send;
  return (!sends || live(communicator, task.from, bytes)) &&
         (!receives || live(communicator, task.to, task.kind == Task::all_gather ? ranks * bytes : bytes));
}

void gather(const Meeting& meeting) {
  const std::size_t bytes =
      meeting.tasks.begin()->second.count * bytes_of(meeting.tasks.begin()->second.type);
  if (bytes == 0) return;
  for (const auto& [to_rank, to] : meeting.tasks)
    for (const auto& [from_rank, from] : meeting.tasks)
      std::memmove(static_cast<char*>(to.to) + static_cast<std::size_t>(from_rank) * bytes, from.from, bytes);
}

bool alike(const Meeting& meeting) {
  const Task& first = meeting.tasks.begin()->second;
  return std::all_of(meeting.tasks.begin(), meeting.tasks.end(), [&](const auto& entry) {
    const Task& task = entry.second;
    return task.kind == first.kind && task.count == first.count && task.type == first.type &&
           task.reduction == first.reduction;
  });
}

/// With the clique's mutex held. What does not match waits until it is aborted, as NCCL hangs.
void meet(Communicator& communicator, const Task& task, std::unique_lock<std::mutex>& hold) {
  Clique& clique = *communicator.clique;
  const long long number = communicator.collectives++;
  Meeting& meeting = clique.meetings[number];
  meeting.tasks[communicator.rank] = task;
  if (static_cast<int>(meeting.tasks.size()) == communicator.ranks && alike(meeting)) {
    task.kind == Task::all_gather ? gather(meeting) : reduce(meeting);
    meeting.done = true;
    clique.changed.notify_all();
  }
  clique.changed.wait(hold, [&] { return meeting.done || communicator.aborted; });
  if (meeting.done && ++meeting.left == communicator.ranks) clique.meetings.erase(number);
}

/// With the clique's mutex held: copies what has come for the first tasks that wait, in order per sender.
void receive_ready(Communicator& communicator, std::map<int, std::deque<Task>>& waiting) {
  Clique& clique = *communicator.clique;
  for (auto& [peer, tasks] : waiting) {
    auto& channel = clique.channels[{peer, communicator.rank}];
    while (!tasks.empty() && !channel.empty()) {
      const Task& task = tasks.front();
      Sent& sent = *channel.front();
      if (sent.count != task.count || sent.type != task.type) break;
      if (task.count) std::memmove(task.to, sent.from, task.count * bytes_of(task.type));
      sent.taken = true;
      channel.pop_front();
      tasks.pop_front();
      clique.changed.notify_all();
    }
  }
}

}  // namespace

long long overlaps() {
  const std::lock_guard hold(running().mutex);
  return running().overlaps;
}

void forget_overlaps() {
  const std::lock_guard hold(running().mutex);
  running().overlaps = 0;
}

CuResult run(Communicator& communicator, const std::vector<Task>& tasks) {
  if (communicator.aborted) return kCuSuccess;
  const Presence presence(communicator);
  for (const Task& task : tasks)
    if (!live(communicator, task)) return kCuIllegalAddress;
  Clique& clique = *communicator.clique;
  std::unique_lock hold(clique.mutex);
  std::vector<std::shared_ptr<Sent>> sent;
  std::map<int, std::deque<Task>> waiting;
  for (const Task& task : tasks) {
    if (communicator.aborted) return kCuSuccess;
    if (task.kind == Task::send) {
      sent.push_back(std::make_shared<Sent>(Sent{&communicator, task.from, task.count, task.type}));
      clique.channels[{communicator.rank, task.peer}].push_back(sent.back());
    } else if (task.kind == Task::receive) {
      waiting[task.peer].push_back(task);
    }
  }
  clique.changed.notify_all();
  for (const Task& task : tasks)
    if (task.kind == Task::all_gather || task.kind == Task::all_reduce) meet(communicator, task, hold);
  clique.changed.wait(hold, [&] {
    if (communicator.aborted) return true;
    receive_ready(communicator, waiting);
    return std::all_of(waiting.begin(), waiting.end(),
                       [](const auto& entry) { return entry.second.empty(); }) &&
           std::all_of(sent.begin(), sent.end(), [](const auto& one) { return one->taken; });
  });
  return kCuSuccess;
}

}  // namespace software_nccl
