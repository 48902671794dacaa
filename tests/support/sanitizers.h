#pragma once

#include <gtest/gtest.h>

namespace cerar::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// In which threads that glibc makes for itself, and those of a child beside its parent's, are a crash.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace cerar::test

/// For tests of limits that the sanitizers do not keep themselves.
#define SKIP_WITH_SANITIZERS(reason) \
  if (cerar::test::kSanitized) GTEST_SKIP() << "sanitizers " << reason
/// For what ThreadSanitizer crashes in: see kThreadSanitized.
#define SKIP_WITH_THREAD_SANITIZER(reason) \
  if (cerar::test::kThreadSanitized) GTEST_SKIP() << "ThreadSanitizer " << reason
