#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tests/software_gpu/nccl/communicator.h"

namespace software_nccl {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<const NcclCommTag*, std::shared_ptr<Communicator>> communicators;
  std::map<std::string, std::shared_ptr<Clique>> gathering;  // by unique id
};
Registry& registry() {
  static Registry& made = *new Registry;
  return made;
}

bool distinct_devices(const Clique& clique) {
  std::set<int> devices;
  for (const auto& [rank, member] : clique.gathering)
    if (!devices.insert(member->device).second) {
      std::fprintf(stderr, "software NCCL: duplicate GPU: rank %d is on device %d like another\n", rank,
                   member->device);
      return false;
    }
  return true;
}

/// With all ranks there and the clique's mutex held.
void finish(Clique& clique) {
  const NcclResult result = distinct_devices(clique) ? kNcclSuccess : kNcclInvalidUsage;
  for (const auto& [rank, member] : clique.gathering)
    member->set_state(member->aborted ? kNcclInternalError : result);
  clique.gathering.clear();  // a clique that kept its members would keep itself
}

void form_children(const Split& split) {
  std::map<int, std::vector<std::pair<int, int>>> colors;  // color: key, the parent's rank
  for (const auto& [rank, share] : split.shares)
    if (share.child) colors[share.color].emplace_back(share.key, rank);
  for (auto& [color, order] : colors) {
    std::sort(order.begin(), order.end());
    const auto clique = std::make_shared<Clique>();
    const std::lock_guard hold(clique->mutex);
    for (const auto& [key, parent_rank] : order) {
      const auto& child = split.shares.at(parent_rank).child;
      const std::lock_guard hold_child(child->ready_mutex);
      child->clique = clique;
      child->rank = static_cast<int>(clique->gathering.size());
      child->ranks = static_cast<int>(order.size());
      clique->gathering[child->rank] = child;
    }
    finish(*clique);
  }
  for (const auto& [rank, share] : split.shares) {
    if (!share.parent) continue;
    *share.target = share.handle;
    const std::lock_guard hold(share.parent->ready_mutex);
    share.parent->splitting = false;
  }
}

}  // namespace

NcclComm add(std::shared_ptr<Communicator> communicator) {
  const auto handle = reinterpret_cast<NcclComm>(software_gpu::next_handle());
  const std::lock_guard hold(registry().mutex);
  registry().communicators[handle] = std::move(communicator);
  return handle;
}

std::shared_ptr<Communicator> find(const NcclCommTag* handle) {
  const std::lock_guard hold(registry().mutex);
  const auto found = registry().communicators.find(handle);
  return found == registry().communicators.end() ? nullptr : found->second;
}

void remove(const NcclCommTag* handle) {
  const std::lock_guard hold(registry().mutex);
  registry().communicators.erase(handle);
}

long long count_communicators() {
  const std::lock_guard hold(registry().mutex);
  return static_cast<long long>(registry().communicators.size());
}

void forget_communicators() {
  std::map<const NcclCommTag*, std::shared_ptr<Communicator>> all;
  {
    const std::lock_guard hold(registry().mutex);
    all.swap(registry().communicators);
    registry().gathering.clear();
  }
  for (const auto& [handle, communicator] : all) abort(*communicator);
}

NcclResult arrive(const NcclUniqueId& id, const std::shared_ptr<Communicator>& communicator) {
  const std::string name(id.internal, sizeof id.internal);
  const std::lock_guard hold(registry().mutex);
  auto& gathering = registry().gathering[name];
  if (!gathering) gathering = std::make_shared<Clique>();
  const auto clique = gathering;
  const std::lock_guard hold_clique(clique->mutex);
  {
    const std::lock_guard hold_ready(communicator->ready_mutex);
    communicator->clique = clique;
  }
  if (!clique->gathering.emplace(communicator->rank, communicator).second ||
      clique->gathering.begin()->second->ranks != communicator->ranks)
    return kNcclInvalidArgument;
  if (static_cast<int>(clique->gathering.size()) < communicator->ranks) return kNcclSuccess;
  registry().gathering.erase(name);
  finish(*clique);
  return kNcclSuccess;
}

void split(const std::shared_ptr<Communicator>& parent, Split::Share share) {
  Clique& clique = *parent->clique;
  const std::lock_guard hold(clique.mutex);
  const long long number = parent->splits++;
  Split& split = clique.splits[number];
  if (share.parent) {
    const std::lock_guard hold_parent(parent->ready_mutex);
    parent->splitting = true;
  }
  split.shares[parent->rank] = std::move(share);
  if (static_cast<int>(split.shares.size()) < parent->ranks) return;
  form_children(split);
  clique.splits.erase(number);
  clique.changed.notify_all();
}

void abort(Communicator& communicator) {
  communicator.aborted = true;
  if (communicator.initialised() == kNcclInProgress) communicator.set_state(kNcclInternalError);
  std::shared_ptr<Clique> shared;
  {
    const std::lock_guard hold(communicator.ready_mutex);
    shared = communicator.clique;
  }
  if (!shared) return;
  Clique& clique = *shared;
  std::vector<NcclComm> unborn;
  std::unique_lock hold(clique.mutex);
  std::erase_if(clique.gathering, [&](const auto& entry) { return entry.second.get() == &communicator; });
  for (auto& [pair, channel] : clique.channels)
    std::erase_if(channel, [&](const auto& sent) { return sent->owner == &communicator; });
  for (auto& [number, meeting] : clique.meetings)
    if (!meeting.done) meeting.tasks.erase(communicator.rank);
  for (auto& [number, split] : clique.splits) {
    const auto share = split.shares.find(communicator.rank);
    if (share == split.shares.end()) continue;
    if (share->second.child) {
      share->second.child->set_state(kNcclInternalError);
      unborn.push_back(share->second.handle);
    }
    split.shares.erase(share);
  }
  clique.changed.notify_all();
  hold.unlock();  // the registry's lock comes first
  for (const NcclComm child : unborn) remove(child);
}

}  // namespace software_nccl
