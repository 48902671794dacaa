#include "runtime/base/debug_log.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <system_error>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/base/thread.h"

namespace cerar {
namespace {

thread_local int this_rank = -1;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

// %h is the host, %p the process, %% a %.
std::string expand(const std::string& pattern, const std::string& host) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h' || next == 'p' || next == '%') {
      path += next == 'h' ? host : next == 'p' ? std::to_string(::getpid()) : "%";
      ++i;
    } else {
      path += pattern[i];
    }
  }
  return path;
}

// The file that this code is in: libcerar, or a program that has it linked in.
std::string own_path() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<const void*>(&own_path), &info) && info.dli_fname ? info.dli_fname : "?";
}

class Log {
 public:
  Log() {
    const DebugEnvironment wanted = read_debug_environment();
    on_ = wanted.level == "info";
    const bool is_known = on_ || wanted.level.empty() || wanted.level == "off";
    if (!is_known)
      write(fmt::format("CERAR_DEBUG is '{}' but must be info or off; nothing is logged.", wanted.level));
    if (!on_) return;
    if (!wanted.file.empty()) open_file(expand(wanted.file, host_));
    write(fmt::format("CERAR {}, {}", CERAR_VERSION_TEXT, own_path()));
  }

  bool on() const { return on_; }

  void write(std::string_view text) const {
    const std::string rank = this_rank < 0 ? "-" : std::to_string(this_rank);
    std::string line = one_line(fmt::format("cerar {}:{} rank {}: {}", host_, ::getpid(), rank, text));
    if (line.size() >= PIPE_BUF) line.replace(PIPE_BUF - 4, line.size(), "...");
    line += '\n';
    const PipeSignalSwallowed no_signal;
    while (::write(file_, line.data(), line.size()) < 0 && errno == EINTR) {
    }
  }

 private:
  void open_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
      write(fmt::format("CERAR_DEBUG_FILE: '{}' cannot be written ({}); the log comes here.", path,
                        std::generic_category().message(errno)));
    else
      file_ = file;
  }

  std::string host_ = host_name();
  int file_ = STDERR_FILENO;
  bool on_ = false;
};

// Never destroyed: threads may write until the process has ended.
const Log* the_log() noexcept {
  static const Log* const log = []() -> const Log* {
    const int error = errno;
    const Log* made = nullptr;
    try {
      made = new Log;
    } catch (...) {
    }
    errno = error;
    return made;
  }();
  return log;
}

bool own_is_on() noexcept {
  static const bool on = the_log() && the_log()->on();
  return on;
}

void set_own_rank(int rank) noexcept { this_rank = rank; }

void write_own(std::string_view text) noexcept {
  const int error = errno;
  try {
    if (the_log()) the_log()->write(text);
  } catch (...) {
  }
  errno = error;
}

constexpr DebugLog kOwn{.is_on = own_is_on, .set_rank = set_own_rank, .write = write_own};
std::atomic<const DebugLog*> used = &kOwn;

}  // namespace

const DebugLog& own_debug_log() noexcept { return kOwn; }
void use_debug_log(const DebugLog& log) noexcept { used = &log; }

bool debug_log_is_on() noexcept { return used.load()->is_on(); }
void set_debug_rank(int rank) noexcept { used.load()->set_rank(rank); }
void write_debug_line(std::string_view text) noexcept { used.load()->write(text); }

}  // namespace cerar
