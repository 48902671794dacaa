// What the system may refuse, or have little of.
#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/lifecycle/ring.h"

namespace cerar::test {
namespace {

// As little as the system permits, as in programs with thousands of threads.
TEST(Limits, CallsWorkOnASmallStack) {
  LocalRing<2> ring;
  std::thread other([&] { EXPECT_EQ(call(ring[1], 100003).result, cerarSuccess); });
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(
      pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)) + 16384),
      0);
  struct Work {
    cerarComm_t comm;
    float* vector;
    cerarResult_t result;
  };
  std::vector<float> vector(100003, 1.0f);
  Work work{ring[0], vector.data(), cerarInternalError};
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* given) -> void* {
                  auto& todo = *static_cast<Work*>(given);
                  todo.result = cerarAllReduce(todo.vector, todo.vector, 100003, cerarFloat32, cerarSum,
                                               todo.comm, nullptr);
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  other.join();
  EXPECT_EQ(work.result, cerarSuccess);
  for (const float x : vector) ASSERT_EQ(x, 2.0f);
}

TEST(Limits, SentencesHaveAnEndAndNoControlCharacters) {
  const std::string path = "/tmp/" + std::string(3'000'000, 'x') + "\nend";
  cerarPlan_t plan = nullptr;
  EXPECT_NE(cerarPlanLoad(&plan, path.c_str()), cerarSuccess);
  const std::string sentence = cerarGetLastError();
  EXPECT_LE(sentence.size(), 1000u);
  EXPECT_THAT(sentence, testing::AllOf(testing::HasSubstr("/tmp/xxx"), testing::HasSubstr("[...]")));
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cerar::test
