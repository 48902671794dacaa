#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cerar::runtime {

/// A few small values that all ranks of a job see, to find each other; what a dead job left in it may still
/// be there. Keys consist of letters, digits, '.', '-' and '_'. Threads may share a store.
class Store {
 public:
  virtual ~Store() = default;

  /// As the user wrote it, "file:/shared/job".
  virtual std::string name() const = 0;

  /// Overwrites; readers see the old bytes or the new ones. False while the store cannot be reached yet.
  virtual bool set(const std::string& key, std::string_view bytes) = 0;
  /// Nothing where the key is missing or the store cannot be reached yet.
  virtual std::optional<std::string> get(const std::string& key) = 0;
  virtual void remove(const std::string& key) = 0;

  /// The address from which this rank reaches the store's host, where the store has one.
  virtual std::optional<std::string> local_address() { return std::nullopt; }
};

/// "file:DIRECTORY" or "tcp:HOST:PORT", which rank 0 serves. Throws `invalid_argument` for any other text,
/// and what the store throws.
std::unique_ptr<Store> open_store(const std::string& text, int rank);

}  // namespace cerar::runtime
