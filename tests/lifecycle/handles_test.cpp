// Handles that cannot be used: refused with a sentence, and whoever uses them rightly goes on.
#include <gmock/gmock.h>

#include "tests/lifecycle/ring.h"

namespace cerar::test {
namespace {

using testing::HasSubstr;

void expect_refused(const Outcome& outcome, const std::string& words) {
  EXPECT_EQ(outcome.result, cerarInvalidArgument);
  EXPECT_THAT(outcome.sentence, HasSubstr(words));
}

// Every function that takes a communicator.
void expect_all_refused(cerarComm_t comm, const std::string& words) {
  float x = 3;
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  cerarResult_t error;
  expect_refused(outcome_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, comm, nullptr)), words);
  expect_refused(outcome_of(cerarCommPrepare(comm, 1, cerarFloat32, cerarSum)), words);
  expect_refused(outcome_of(cerarCommLastCall(comm, &info)), words);
  expect_refused(outcome_of(cerarCommGetAsyncError(comm, &error)), words);
  expect_refused(outcome_of(cerarCommAbort(comm)), words);
  if (comm) expect_refused(outcome_of(cerarCommDestroy(comm)), words);
  EXPECT_EQ(x, 3);
}

TEST(Handles, ADestroyedCommunicatorIsRefused) {
  LocalRing<2> ring;
  const cerarComm_t comm = ring.release(0);
  ASSERT_EQ(cerarCommDestroy(comm), cerarSuccess);
  expect_all_refused(comm, "it was destroyed, or never made");
}

TEST(Handles, WhatWasNeverACommunicatorIsRefusedUntouched) {
  expect_all_refused(reinterpret_cast<cerarComm_t>(std::uintptr_t{0xdead0}), "never made");
  int other = 0;
  expect_all_refused(reinterpret_cast<cerarComm_t>(&other), "never made");
  expect_all_refused(nullptr, "comm is a null pointer");
  EXPECT_EQ(cerarCommDestroy(nullptr), cerarSuccess);
}

TEST(Handles, ASecondThreadIsRefusedAtOnceAndTheFirstGoesOn) {
  LocalRing<2> ring;
  Waiting first(ring[1]);
  float x = 3;
  const auto start = Clock::now();
  expect_refused(outcome_of(cerarAllReduce(&x, &x, 1, cerarFloat32, cerarSum, ring[1], nullptr)),
                 "in use by another thread");
  EXPECT_LT(seconds_since(start), 20);  // not the timeout
  EXPECT_EQ(x, 3);
  cerarResult_t error = cerarInternalError;
  EXPECT_EQ(cerarCommGetAsyncError(ring[1], &error), cerarSuccess) << cerarGetLastError();
  EXPECT_EQ(error, cerarSuccess);
  EXPECT_EQ(call(ring[0]).result, cerarSuccess);
  EXPECT_EQ(first.join().result, cerarSuccess);
  expect_sums(ring);
}

}  // namespace
}  // namespace cerar::test
