#include "generator/compile/contain.h"

#include <fmt/format.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

// Of the failure under way on this thread.
thread_local std::string words;
thread_local bool memory_exhausted = false;

/// LLVM ends the process when its handlers return, as it may for what is not contained.
void leave() {
  if (auto* const context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(1);
}

void on_fatal(void*, const char* reason, bool) {
  words = reason;
  leave();
}

void on_exhausted(void*, const char*, bool) {
  memory_exhausted = true;
  leave();
}

/// The process handles crash signals as long as something is contained.
class Recovery {
 public:
  Recovery() {
    const std::lock_guard lock(mutex_);
    static const bool installed = [] {
      llvm::install_fatal_error_handler(on_fatal);
      llvm::install_bad_alloc_error_handler(on_exhausted);
      return true;
    }();
    static_cast<void>(installed);
    if (users_++ == 0) llvm::CrashRecoveryContext::Enable();
  }
  ~Recovery() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) llvm::CrashRecoveryContext::Disable();
  }
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

 private:
  static std::mutex mutex_;
  static int users_;
};
std::mutex Recovery::mutex_;
int Recovery::users_ = 0;

}  // namespace

void contain(const char* who, const std::function<void()>& body) {
  const Recovery recovery;
  words.clear();
  memory_exhausted = false;
  std::exception_ptr thrown;
  llvm::CrashRecoveryContext context;
  const bool returned = context.RunSafely([&] {
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (memory_exhausted) throw std::bad_alloc();
  if (!words.empty() || !returned)
    throw Error(ErrorCode::system,
                fmt::format("{} gave up: {}.", who,
                            words.empty() ? fmt::format("it crashed, code {}", context.RetCode) : words));
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cerar::generator
