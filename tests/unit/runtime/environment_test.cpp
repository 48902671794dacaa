#include "runtime/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/comm/call.h"

namespace cerar {
namespace {

using namespace std::chrono_literals;

// A rank that saves a checkpoint, validates or compiles is not lost.
TEST(Environment, WithoutAVariableCallsWaitTenMinutesAndMeetingsFive) {
  ::unsetenv("CERAR_TIMEOUT");
  const Timeouts timeouts = read_environment().timeouts;
  EXPECT_EQ(timeouts.call, 10min);
  EXPECT_EQ(timeouts.meeting, 5min);
}

TEST(Environment, TheVariableIsBothLimitsInSeconds) {
  ::setenv("CERAR_TIMEOUT", "1.5", 1);
  const Timeouts timeouts = read_environment().timeouts;
  ::unsetenv("CERAR_TIMEOUT");
  EXPECT_EQ(timeouts.call, 1500ms);
  EXPECT_EQ(timeouts.meeting, 1500ms);
}

TEST(Environment, ATimeoutEndsWithWhatToDoOnce) {
  const std::string sentence = with_timeout_advice("rank 0 waited 300 ms for rank 1.");
  EXPECT_EQ(sentence,
            "rank 0 waited 300 ms for rank 1; where they need longer, raise timeout_ms, "
            "meeting_timeout_ms or CERAR_TIMEOUT "
            "(seconds).");
  EXPECT_EQ(with_timeout_advice(sentence), sentence);
  EXPECT_EQ(
      runtime::with_call(sentence, 7, nullptr),
      "rank 0 waited 300 ms for rank 1, in all-reduce number 7 of no plan; where they need longer, raise "
      "timeout_ms, meeting_timeout_ms or CERAR_TIMEOUT (seconds).");
}

}  // namespace
}  // namespace cerar
