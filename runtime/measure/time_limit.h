#pragma once

#include "runtime/include/cerar.h"

namespace cerar {

/// A configuration with one limit for calls and for making the communicator, or one for each, to be written
/// where a cerarCommInit takes one: `TimeLimit(500)`. 0 is the default.
class TimeLimit {
 public:
  explicit TimeLimit(int ms) : TimeLimit(ms, ms) {}
  TimeLimit(int call_ms, int meeting_ms) {
    config_.timeout_ms = call_ms;
    config_.meeting_timeout_ms = meeting_ms;
  }
  operator const cerarCommConfig_t*() const { return &config_; }

 private:
  cerarCommConfig_t config_ = CERAR_COMM_CONFIG_INITIALIZER;
};

}  // namespace cerar
