#include "generator/compile/host_compiler.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "generator/compile/contain.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/processor.h"
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

/// Links one relocatable ELF object to a shared object with lld, in process, in a private temporary directory
/// that is gone afterwards. Undefined symbols stay for dlopen to find. Calls from several threads take turns.
/// Throws `system` with lld's words, naming the directory.
std::string link_shared(const std::string& object) {
  const TemporaryDirectory directory;
  const std::filesystem::path input = directory.path() / "kernels.o",
                              output = directory.path() / "kernels.so";
  write_object(input, object);
  run_lld(directory.path().parent_path(), input.string(), output.string());
  return read_file(output);
}

constexpr const char* kMainFile = "/kernels.cc";

llvm::Triple host_triple() {
  // Without the operating system's version or the vendor, so that both stay out of the output.
  llvm::Triple machine(llvm::sys::getDefaultTargetTriple());
  return llvm::Triple(machine.getArchName(), "unknown", "linux", "gnu");
}

/// Name of the target for Clang's -target-cpu.
std::string cpu_of(const std::string& target, const llvm::Triple& triple) {
  const auto known = processor_targets();
  if (std::find(known.begin(), known.end(), target) == known.end())
    throw Error(ErrorCode::unsupported,
                fmt::format("host kernels for '{}' cannot be built here; known are {}.", target,
                            fmt::join(known, ", ")));
  return triple.getArch() == llvm::Triple::x86_64 ? target : "generic";
}

std::vector<std::string> frontend_arguments(const llvm::Triple& triple, const std::string& cpu,
                                            bool assembly) {
  return {"-triple", triple.str(), "-target-cpu", cpu, "-x", "c++", "-std=c++17",
          assembly ? "-S" : "-emit-obj", "-O3", "-vectorize-loops", "-vectorize-slp",
          // Every step rounds once, as on the GPU. Without -fmath-errno the fma becomes an instruction where
          // there is one; elsewhere the kernels work it out.
          "-ffp-contract=off",
          // Clang would use half of AVX-512's registers; converting messages takes up to twice as long then.
          "-mprefer-vector-width=512",
          // No standard library; loops must not turn into calls of it.
          "-ffreestanding", "-nostdsysteminc", "-nobuiltininc", "-mrelocation-model", "pic", "-pic-level",
          "2", "-fvisibility=hidden",
          // No note of the compiler and of the directory.
          "-Qn", "-fdebug-compilation-dir=.", "-main-file-name", "kernels.cc", kMainFile};
}

std::string compile_contained(const std::string& source, const std::string& target, bool assembly) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
  const llvm::Triple triple = host_triple();
  const std::vector<std::string> arguments = frontend_arguments(triple, cpu_of(target, triple), assembly);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());

  FirstError errors;
  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&errors, /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), pointers,
                                                 compiler.getDiagnostics()))
    throw Error(ErrorCode::internal, "Clang refuses the host compiler's arguments: " + errors.message + ".");
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(kMainFile, 0, llvm::MemoryBuffer::getMemBuffer(source, kMainFile));
  compiler.setVerboseOutputStream(llvm::nulls());  // Clang would print how many errors there were
  compiler.createFileManager(files);
  llvm::SmallVector<char, 0> output;
  compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(output));

  std::unique_ptr<clang::CodeGenAction> action;
  if (assembly)
    action = std::make_unique<clang::EmitAssemblyAction>();
  else
    action = std::make_unique<clang::EmitObjAction>();
  const bool compiled = compiler.ExecuteAction(*action);
  if (!compiled || !errors.message.empty())
    throw Error(ErrorCode::invalid_plan,
                fmt::format("kernels do not compile for {}; Clang says: {}.", target, errors.message));
  return std::string(output.begin(), output.end());
}

std::string run_clang(const std::string& source, const std::string& target, bool assembly) {
  std::string output;
  contain("Clang", [&] { output = compile_contained(source, target, assembly); });
  return output;
}

}  // namespace

std::string host_target() {
  const std::string here = processor_target();
  return here == "x86-64-v4" ? "x86-64-v3" : here;
}

std::string compile_host(const std::string& source, const std::string& target) {
  return link_shared(run_clang(source, target, /*assembly=*/false));
}

std::string compile_host_assembly(const std::string& source, const std::string& target) {
  return run_clang(source, target, /*assembly=*/true);
}

}  // namespace cerar::generator
