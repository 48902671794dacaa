#include "generator/compile/link_shared.h"

#include <fmt/format.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>

#include "generator/compile/contain.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"

LLD_HAS_DRIVER(elf)

namespace cerar::generator {
namespace {

/// lld keeps its state in globals and says after each run whether another one is possible; what made it
/// impossible is then every later caller's error.
void run_lld(const std::filesystem::path& directory, const std::string& input, const std::string& output) {
  static std::mutex one_at_a_time;
  static std::string end_of_all;
  const std::lock_guard lock(one_at_a_time);
  if (!end_of_all.empty()) throw Error(ErrorCode::system, end_of_all);
  // One thread: the order of its work can then not matter, and one object gives it nothing to share. Not
  // through a map of the output: on a disk without room it raises SIGBUS.
  const char* arguments[] = {"ld.lld",
                             "-shared",
                             "--build-id=none",
                             "--hash-style=gnu",
                             "--threads=1",
                             "--strip-all",
                             "-z",
                             "noexecstack",
                             "-z",
                             "relro",
                             input.c_str(),
                             "-o",
                             output.c_str(),
                             "--no-mmap-output-file"};
  std::string messages;
  const auto sentence = [&](std::string reason) {
    while (!reason.empty() && (reason.back() == '\n' || reason.back() == '.')) reason.pop_back();
    return fmt::format(
        "host kernels cannot be linked in {}: {}; make room there, or set TMPDIR to another directory.",
        directory.string(), reason);
  };
  try {
    bool linked = false;
    contain("lld", [&] {
      llvm::raw_string_ostream stream(messages);
      const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
      linked = result.retCode == 0;
      if (!result.canRunAgain) end_of_all = sentence(messages);
    });
    if (linked && end_of_all.empty()) return;
  } catch (const Error& error) {
    end_of_all = sentence(error.what());
  } catch (const std::bad_alloc&) {
    end_of_all = sentence("memory is exhausted");
    throw;
  }
  throw Error(ErrorCode::system, end_of_all.empty() ? sentence(messages) : end_of_all);
}

void write_object(const std::filesystem::path& file, const std::string& bytes) {
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream)
    throw Error(ErrorCode::system,
                fmt::format("{} cannot be written: {}; make room there, or set TMPDIR to another directory.",
                            file.string(), std::strerror(errno)));
}

}  // namespace

std::string link_shared(const std::string& object) {
  const TemporaryDirectory directory;
  const std::filesystem::path input = directory.path() / "kernels.o",
                              output = directory.path() / "kernels.so";
  write_object(input, object);
  run_lld(directory.path().parent_path(), input.string(), output.string());
  return read_file(output);
}

}  // namespace cerar::generator
