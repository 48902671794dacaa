#include "generator/compile/link_shared.h"

#include <fmt/format.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"

LLD_HAS_DRIVER(elf)

namespace cerar::generator {
namespace {

/// lld keeps its state in globals and says after each run whether another one is possible.
void run_lld(const std::string& input, const std::string& output) {
  static std::mutex one_at_a_time;
  static bool can_run_again = true;
  const std::lock_guard lock(one_at_a_time);
  if (!can_run_again)
    throw Error(ErrorCode::internal, "lld crashed before and cannot run again in this process.");
  // One thread: the order of its work can then not matter, and one object gives it nothing to share.
  const char* arguments[] = {
      "ld.lld",      "-shared", "--build-id=none", "--hash-style=gnu", "--threads=1", "--strip-all", "-z",
      "noexecstack", "-z",      "relro",           input.c_str(),      "-o",          output.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  can_run_again = result.canRunAgain;
  if (result.retCode != 0)
    throw Error(ErrorCode::internal, fmt::format("lld cannot link the host kernels: {}", messages));
}

}  // namespace

std::string link_shared(const std::string& object) {
  const TemporaryDirectory directory;
  const std::filesystem::path input = directory.path() / "kernels.o",
                              output = directory.path() / "kernels.so";
  std::ofstream stream(input, std::ios::binary);
  stream.write(object.data(), static_cast<std::streamsize>(object.size()));
  stream.close();
  if (!stream)
    throw Error(ErrorCode::system,
                fmt::format("{} cannot be written: {}.", input.string(), std::strerror(errno)));
  run_lld(input.string(), output.string());
  return read_file(output);
}

}  // namespace cerar::generator
