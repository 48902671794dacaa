// Libraries opened from bytes, also where the system refuses memory files.
#include "runtime/host/memory_library.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"

namespace {

bool refuses_memory_files = false;

}  // namespace

/// Stands before the C library's.
extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  if (!refuses_memory_files) return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
  errno = EPERM;
  return -1;
}

namespace cerar {
namespace {

namespace fs = std::filesystem;

class Memory : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    refuses_memory_files = GetParam();
    ::setenv("TMPDIR", scratch.path().c_str(), 1);
  }
  void TearDown() override {
    refuses_memory_files = false;
    ::unsetenv("TMPDIR");
  }

  static std::string bytes(int answer) {
    return read_file(answer == 1 ? CERAR_FIRST_LIBRARY : CERAR_SECOND_LIBRARY);
  }
  static int answer_of(const MemoryLibrary& library) {
    return reinterpret_cast<int (*)()>(library.symbol("answer"))();
  }
  static std::string refusal(const std::string& bytes, ErrorCode code) {
    try {
      const MemoryLibrary library(bytes, "kernels/mine.so");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "(opened)";
  }

  const TemporaryDirectory scratch;
};

// Descriptors and paths are used again, and dlopen hands out what is open already under a name.
TEST_P(Memory, EachLibraryIsItsOwn) {
  const MemoryLibrary first(bytes(1), "mine.so");
  for (int i = 0; i < 5; ++i) {
    const MemoryLibrary second(bytes(2), "mine.so"), again(bytes(1), "mine.so");
    EXPECT_EQ(answer_of(second), 2);
    EXPECT_EQ(answer_of(again), 1);
  }
  EXPECT_EQ(answer_of(first), 1);
  EXPECT_EQ(first.symbol("no_answer"), nullptr);
  EXPECT_TRUE(fs::is_empty(scratch.path())) << "temporary files are left behind";
}

TEST_P(Memory, NoDescriptorStaysOpen) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  const MemoryLibrary library(bytes(1), "mine.so");
  EXPECT_EQ(open_files(), before);
}

TEST_P(Memory, WhatIsNoWholeLibraryIsRefused) {
  const std::string whole = bytes(1);
  EXPECT_NE(refusal("#!/bin/sh\n", ErrorCode::invalid_plan).find("kernels/mine.so cannot be opened"),
            std::string::npos);
  for (std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{64}, whole.size() / 2})
    EXPECT_NE(refusal(whole.substr(0, size), ErrorCode::invalid_plan), "(opened)") << size << " bytes";
}

TEST_P(Memory, BothReasonsAreNamedWhereNeitherWorks) {
  refuses_memory_files = true;
  ::setenv("TMPDIR", "/proc", 1);  // where nobody can make files
  const std::string sentence = refusal(bytes(1), ErrorCode::system);
  for (const char* word :
       {"kernels/mine.so", "a memory file: Operation not permitted", "/proc/cerar-", "TMPDIR"})
    EXPECT_NE(sentence.find(word), std::string::npos) << word << " in " << sentence;
}

INSTANTIATE_TEST_SUITE_P(Libraries, Memory, testing::Bool(),
                         [](const auto& info) { return info.param ? "InTemporaryFiles" : "InMemoryFiles"; });

}  // namespace
}  // namespace cerar
