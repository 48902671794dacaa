// What the application has set for its threads changes no result, and is found as it was.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/time.h>

#include <atomic>
#include <cfenv>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstring>
#include <functional>
#include <locale>
#include <thread>

#include "runtime/measure/measure.h"
#include "runtime/measure/time_limit.h"
#include "tests/support/plans.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace cerar::test {
namespace {

using runtime::Construction;
using runtime::Wire;

constexpr int kRanks = 4;
constexpr std::size_t kCount = 60013;

// Plans whose kernels round, of messages in f32 and in block fixed point.
const std::vector<std::string>& plans() {
  static const std::vector<std::string> made = [] {
    std::vector<std::string> paths;
    for (const Wire wire : {Wire::f32, Wire::fx16, Wire::fx8})
      paths.push_back(plan_directory(Construction::differential, kRanks, 16, 2, wire));
    return paths;
  }();
  return made;
}

using Setting = std::function<void()>;

// The bits of all ranks' results where `set` was called in each rank's thread before the call.
std::vector<std::vector<float>> results(const std::string& path, const Setting& set, const Setting& check) {
  cerarPlan_t plan = nullptr;
  EXPECT_EQ(cerarPlanLoad(&plan, path.c_str()), cerarSuccess) << cerarGetLastError();
  cerarComm_t comms[kRanks];
  EXPECT_EQ(cerarCommInitLocal(comms, kRanks, plan, TimeLimit(60000)), cerarSuccess) << cerarGetLastError();
  cerarPlanFree(plan);
  std::vector<std::vector<float>> vectors(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      auto& vector = vectors[static_cast<std::size_t>(rank)];
      vector = runtime::make_input(runtime::Input::normal, rank, kCount, 5);
      for (std::size_t i = 0; i < 512; ++i) vector[i] *= 1e-39f;  // subnormal, which some settings flush
      for (std::size_t i = 512; i < 1024; ++i) vector[i] = 0;
      set();
      const auto result = cerarAllReduce(vector.data(), vector.data(), kCount, cerarFloat32, cerarAverage,
                                         comms[rank], nullptr);
      check();
      EXPECT_EQ(result, cerarSuccess) << cerarGetLastError();
    });
  for (auto& thread : threads) thread.join();
  for (cerarComm_t comm : comms) EXPECT_EQ(cerarCommDestroy(comm), cerarSuccess);
  return vectors;
}

void nothing() {}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (std::size_t rank = 0; rank < a.size(); ++rank)
    if (std::memcmp(a[rank].data(), b[rank].data(), a[rank].size() * sizeof(float)) != 0) return false;
  return true;
}

void expect_same_results(const Setting& set, const Setting& check) {
  for (const auto& plan : plans())
    EXPECT_TRUE(same_bits(results(plan, nothing, nothing), results(plan, set, check))) << plan;
}

TEST(Caller, RoundingModesChangeNothing) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    expect_same_results([mode] { std::fesetround(mode); }, [mode] { EXPECT_EQ(std::fegetround(), mode); });
}

#if defined(__SSE__)
TEST(Caller, FlushedSubnormalsChangeNothing) {
  for (const unsigned bits : {0x8000u, 0x0040u, 0x8040u, 0x7f80u & 0x6000u})
    expect_same_results([bits] { _mm_setcsr(_mm_getcsr() | bits); },
                        [bits] {
                          EXPECT_EQ(_mm_getcsr() & bits, bits);
                          _mm_setcsr(0x1f80);
                        });
}
#endif

#if defined(__GLIBC__)
TEST(Caller, TrapsOfArithmeticAreNotSprung) {
  expect_same_results(
      [] { feenableexcept(FE_INEXACT | FE_DIVBYZERO | FE_INVALID | FE_UNDERFLOW | FE_OVERFLOW); },
      [] {
        EXPECT_NE(fegetexcept() & FE_INEXACT, 0);
        fedisableexcept(FE_ALL_EXCEPT);
        std::feclearexcept(FE_ALL_EXCEPT);
      });
}
#endif

TEST(Caller, FlagsAndErrnoAreAsTheyWere) {
  expect_same_results(
      [] {
        std::feclearexcept(FE_ALL_EXCEPT);
        std::feraiseexcept(FE_DIVBYZERO);
        errno = 4711;
      },
      [] {
        EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
        EXPECT_EQ(errno, 4711);
      });
}

// Plans are made and loaded, and calls made, with a comma for a point and points between digits.
TEST(Caller, LocalesChangeNothing) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\1"; }
  };
  std::vector<std::vector<std::vector<float>>> before;
  for (const auto& plan : plans()) before.push_back(results(plan, nothing, nothing));
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new Comma));
  const std::string c_locale = std::setlocale(LC_ALL, nullptr);
  // Where the system has one; scripts without the package `locales` do not.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name)) break;
  for (std::size_t i = 0; i < plans().size(); ++i)
    EXPECT_TRUE(same_bits(before[i], results(plans()[i], nothing, nothing))) << plans()[i];
  ::setenv("CERAR_TIMEOUT", "0.5", 1);
  cerarComm_t comm = nullptr;
  EXPECT_EQ(cerarCommInitLocal(&comm, 1, nullptr, nullptr), cerarSuccess) << cerarGetLastError();
  cerarCommDestroy(comm);
  ::unsetenv("CERAR_TIMEOUT");
  std::setlocale(LC_ALL, c_locale.c_str());
  std::locale::global(old);
}

// Handlers that interrupt system calls, often, in whatever thread.
TEST(Caller, SignalsChangeNothing) {
  static std::atomic<int> handled = 0;
  struct sigaction action{}, before;
  action.sa_handler = [](int) { ++handled; };  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval storm{{0, 300}, {0, 300}}, calm{};
  setitimer(ITIMER_REAL, &storm, nullptr);
  for (int i = 0; i < 5; ++i) expect_same_results(nothing, nothing);
  setitimer(ITIMER_REAL, &calm, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GT(handled, 0);
}

// A thread that is cancelled in its call finishes it, for the others' sake, and ends afterwards.
TEST(Caller, CancellationWaitsForTheEndOfTheCall) {
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    cerarComm_t comms[2];
    ASSERT_EQ(cerarCommInitLocal(comms, 2, nullptr, TimeLimit(60000)), cerarSuccess);
    struct Work {
      cerarComm_t comm;
      int type;
      std::vector<float> vector = std::vector<float>(5000, 1.0f);
    } work{comms[1], type};
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void* given) -> void* {
                    auto& todo = *static_cast<Work*>(given);
                    int ignored;
                    pthread_setcanceltype(todo.type, &ignored);
                    for (;;) {
                      cerarAllReduce(todo.vector.data(), todo.vector.data(), todo.vector.size(), cerarFloat32,
                                     cerarSum, todo.comm, nullptr);
                      pthread_testcancel();
                    }
                    return nullptr;
                  },
                  &work),
              0);
    while (cerarCommPrepare(comms[1], 0, cerarFloat32, cerarSum) == cerarSuccess) std::this_thread::yield();
    pthread_cancel(thread);
    std::vector<float> vector(5000, 1.0f);
    EXPECT_EQ(cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, cerarSum, comms[0],
                             nullptr),
              cerarSuccess)
        << cerarGetLastError();
    void* ended = nullptr;
    pthread_join(thread, &ended);
    EXPECT_EQ(ended, PTHREAD_CANCELED);
    for (const float x : work.vector) ASSERT_EQ(x, 2.0f);
    for (cerarComm_t comm : comms) EXPECT_EQ(cerarCommDestroy(comm), cerarSuccess) << cerarGetLastError();
  }
}

}  // namespace
}  // namespace cerar::test
