#include "tests/software_gpu/base/settings.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

namespace software_gpu {
namespace {

constexpr int kDelayUs = 200;

std::atomic<int> set_number{0};
std::atomic<int> delay_us{-1};
std::atomic<unsigned> seed{0};
std::atomic<unsigned> generation{0};  // threads start their sequences anew when the seed changes
std::atomic<unsigned> threads{0};

}  // namespace

int environment_number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoi(text) : otherwise;
}

const Settings& settings() {
  static const Settings read = {
      std::clamp(environment_number("SOFTWARE_GPU_DEVICES", 4), 0, kMostDevices),
      environment_number("SOFTWARE_GPU_MULTIPROCESSORS", 8),
      environment_number("SOFTWARE_GPU_PEERS", 1) != 0,
      environment_number("SOFTWARE_GPU_DRIVER", 13000),
  };
  return read;
}

int architecture() {
  const int set = set_number;
  return set ? set : environment_number("SOFTWARE_GPU_ARCH", 80);
}

void set_architecture(int number) { set_number = number; }

void set_delays(int at_most_us, unsigned with_seed) {
  delay_us = at_most_us;
  seed = with_seed;
  ++generation;
}

void random_delay() {
  if (delay_us < 0) {
    seed = static_cast<unsigned>(environment_number("SOFTWARE_GPU_SEED", 1));
    delay_us = std::max(0, environment_number("SOFTWARE_GPU_DELAY_US", kDelayUs));
  }
  const int most = delay_us;
  if (most == 0) return;
  thread_local unsigned at = ~0u;
  thread_local std::minstd_rand random;
  if (at != generation) {
    at = generation;
    random.seed(seed * 7919u + ++threads * 104729u + 1u);
  }
  int us = static_cast<int>(random() % static_cast<unsigned>(most + 1));
  if (random() % 64 == 0) us = 10 * most;
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace software_gpu
