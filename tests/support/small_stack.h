#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

namespace cerar::test {

/// Runs `body` on a thread with a stack of so many KiB, and waits for it.
inline void on_small_stack(std::size_t kibibytes, const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kibibytes << 10), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace cerar::test
