// A communicator belongs to the process that made it.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/lifecycle/ring.h"
#include "tests/support/sanitizers.h"

namespace cerar::test {
namespace {

// Runs in a child that ends as programs do, with destructors; true where `body` is.
bool in_a_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // ends what hangs
    std::exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool refused(const Outcome& outcome) {
  const bool right = outcome.result == cerarInvalidArgument &&
                     outcome.sentence.find("was made by process") != std::string::npos;
  if (!right) fprintf(stderr, "%d: %s\n", outcome.result, outcome.sentence.c_str());
  return right;
}

TEST(Fork, AChildIsRefusedEverythingAndTheParentGoesOn) {
  LocalRing<3> ring;
  expect_sums(ring);
  EXPECT_TRUE(in_a_child([&] {
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    return refused(call(ring[0])) && refused(outcome_of(cerarCommAbort(ring[1]))) &&
           refused(outcome_of(cerarCommLastCall(ring[2], &info))) &&
           refused(outcome_of(cerarCommDestroy(ring[0]))) && refused(call(ring[0]));
  }));
  expect_sums(ring);
}

TEST(Fork, AChildOfAProcessInTheMiddleOfACallMakesItsOwn) {
  SKIP_WITH_THREAD_SANITIZER("knows no threads of a child beside its parent's");
  LocalRing<2> ring;
  Waiting waiting(ring[1]);
  EXPECT_TRUE(in_a_child([&] {
    if (!refused(call(ring[1])) || !refused(outcome_of(cerarCommDestroy(ring[1])))) return false;
    LocalRing<2> own;
    expect_sums(own);
    return !testing::Test::HasFailure();
  }));
  EXPECT_EQ(call(ring[0]).result, cerarSuccess);
  EXPECT_EQ(waiting.join().result, cerarSuccess);
  expect_sums(ring);
}

}  // namespace
}  // namespace cerar::test
