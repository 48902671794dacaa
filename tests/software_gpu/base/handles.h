#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace software_gpu {

/// One lock for all bookkeeping: contexts, streams, events, captures, modules and their handles. Nobody waits
/// for work, and no kernel runs, while holding it.
std::mutex& world();

/// A number that no handle had before: destroyed handles are told from live ones, and no handle is an
/// address.
std::uintptr_t next_handle();

/// The live objects of one kind by their handles. Guarded by world().
template <typename Handle, typename Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle());
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { objects_.erase(handle); }
  const std::map<Handle, std::shared_ptr<Object>>& all() const { return objects_; }
  void clear() { objects_.clear(); }

 private:
  std::map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace software_gpu
