#include "generator/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace cerar::generator {

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  try {
    threads.reserve(std::min(cores, count));
    for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit on threads, or no memory for a stack: the others do the work.
  } catch (const std::bad_alloc&) {
  }
  work();
  threads.clear();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cerar::generator
