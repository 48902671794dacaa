// Preloaded by tests: the system refuses every thread after the first CERAR_TEST_THREADS.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using Create = decltype(&pthread_create);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  static std::atomic<int> left = [] {
    const char* const granted = std::getenv("CERAR_TEST_THREADS");
    return granted ? std::atoi(granted) : 0;
  }();
  return left-- > 0 ? real(thread, attributes, body, argument) : EAGAIN;
}
