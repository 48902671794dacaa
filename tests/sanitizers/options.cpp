// How the sanitizers behave: linked into every program of a build with CERAR_SANITIZE, so that it holds
// however a test starts the program. ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS replace it word by word.
#include <unistd.h>

#define CERAR_SANITIZER extern "C" __attribute__((visibility("default"), used))

// For links to ask for, since the sanitizers' own functions of the names below would do for them.
extern "C" const int cerar_sanitizer_options;
const int cerar_sanitizer_options = 0;

// A report ends the process, with a status of its own: programs that are expected to fail exit with 1.
//
// allow_user_poisoning=0: the allocators of LLVM poison what they have not given away, but only where their
// headers were compiled with a sanitizer: here, not in Debian's libraries, which share these objects and then
// "use poisoned memory".
CERAR_SANITIZER const char* __asan_default_options() {
  return "exitcode=86:allow_user_poisoning=0:detect_stack_use_after_return=1";
}
CERAR_SANITIZER const char* __ubsan_default_options() { return "exitcode=86:print_stacktrace=1"; }

// A child made by fork() has one thread. What the others own, on stacks that nobody looks at any more, would
// be leaks.
namespace {
const pid_t started_as = getpid();
}
CERAR_SANITIZER int __lsan_is_turned_off() { return getpid() != started_as; }

CERAR_SANITIZER const char* __tsan_default_options() {
  return "exitcode=86:halt_on_error=1:second_deadlock_stack=1";
}

// Libraries that are not instrumented: their atomics are not seen, and what these order looks like a race.
CERAR_SANITIZER const char* __tsan_default_suppressions() {
  return
      // Gloo's reference counts end every use of a buffer before the buffer. Its locks are seen; what is
      // ours, too.
      "race:libcerar_private_gloo.so\n"
      // What compilations of NVRTC share has locks of its own.
      "race:libnvrtc.so\n"
      // The loader lists what it has loaded under its lock.
      "race:dl_iterate_phdr\n"
      // Copies of an exception share its sentence, and libstdc++ counts them.
      "race:std::runtime_error::~runtime_error\n";
}
