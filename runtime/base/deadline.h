#pragma once

#include <algorithm>
#include <chrono>

namespace cerar {

/// When a wait ends. One is made where a call begins and handed down to everything that it waits for, so that
/// the parts together take no longer than the caller allowed.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  explicit Deadline(Milliseconds limit) : limit_(limit), end_(Clock::now() + limit) {}

  /// What the caller allowed in all, for sentences.
  Milliseconds limit() const { return limit_; }
  Clock::time_point end() const { return end_; }
  /// Rounded up, so that a wait for what is left ends after the deadline; 0 once it has passed.
  Milliseconds left() const {
    return std::max(std::chrono::ceil<Milliseconds>(end_ - Clock::now()), Milliseconds(0));
  }
  bool passed() const { return Clock::now() >= end_; }

  /// The same wait, ended earlier.
  Deadline before(Clock::duration earlier) const { return {limit_, end_ - earlier}; }
  Deadline at_most(Clock::duration ahead) const { return {limit_, std::min(end_, Clock::now() + ahead)}; }

 private:
  Deadline(Milliseconds limit, Clock::time_point end) : limit_(limit), end_(end) {}

  Milliseconds limit_;
  Clock::time_point end_;
};

}  // namespace cerar
