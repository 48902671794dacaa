#include "runtime/program/program.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <string>

#include "runtime/base/error.h"
#include "runtime/program/output.h"

namespace cerar::program {
namespace {

// In one piece, so that lines of several processes do not mix; where there is no memory for that, in parts.
void complain_as(const CLI::App& app, std::string_view sentence) noexcept {
  try {
    complain(fmt::format("{}: {}\n", app.get_name(), one_line(sentence)));
  } catch (const std::bad_alloc&) {
    for (const std::string_view part :
         {std::string_view(app.get_name()), std::string_view(": "), sentence, std::string_view("\n")})
      complain(part);
  }
}

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw;
    std::ostringstream text;  // --help, --version
    const int code = app.exit(error, text, text);
    print_text(text.str());
    return code;
  }
  return body();
}

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) noexcept {
  try {
    const int code = parse_and_run(app, argc, argv, body);
    return finish_streams() || code != 0 ? code : 1;
  } catch (const CLI::ParseError& error) {
    try {
      complain_as(app, fmt::format("{} (see {} --help)", error.what(), app.get_name()));
    } catch (const std::bad_alloc&) {
      complain_as(app, error.what());
    }
    return 2;
  } catch (const std::bad_alloc&) {
    complain_as(app, "memory is exhausted; take smaller sizes or fewer workers, or raise its limit.");
  } catch (const std::exception& error) {
    if (!reader_is_gone()) complain_as(app, error.what());
  }
  return 1;
}

bool stack_suffices() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= kStackBytes;
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  prepare_streams();
  app.set_version_flag("--version", "cerar " CERAR_VERSION_TEXT);
  int code = 1;
  std::function<void()> whole = [&] { code = run(app, argc, argv, body); };
  if (stack_suffices()) {
    whole();
    return code;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_t thread{};
  const int reason = pthread_create(
      &thread, &attributes,
      [](void* run) -> void* {
        (*static_cast<std::function<void()>*>(run))();
        return nullptr;
      },
      &whole);
  pthread_attr_destroy(&attributes);
  if (reason == 0)
    pthread_join(thread, nullptr);
  else
    complain_as(app, fmt::format("a stack of {} MiB cannot be had: {}; raise the limit (ulimit -s {}).",
                                 kStackBytes >> 20, std::strerror(reason), kStackBytes >> 10));
  return code;
}

}  // namespace cerar::program
