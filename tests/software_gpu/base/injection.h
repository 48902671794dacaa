#pragma once

#include <map>
#include <mutex>
#include <string>

#include "tests/software_gpu/base/codes.h"
#include "tests/software_gpu/software_gpu.h"

namespace software_gpu {

/// Calls that shall fail, by the name of the function.
class Failures {
 public:
  void add(const std::string& function, long long n, int code);
  /// 0, or what this call shall return.
  int next(const char* function);
  void clear();

 private:
  struct Failure {
    long long left;
    int code;
  };
  std::mutex mutex_;
  std::map<std::string, Failure> failures_;
};

/// First line of every exported function: an injected failure, or that cuInit has not been called.
CuResult enter(const char* function);
Failures& failures();
void set_initialised();

/// Whether this is the call that a fault was injected into.
bool strikes(SoftwareGpuFault fault);
long long inject(int fault, long long n);
long long inject_here(int fault, long long n);
void clear_injections();

/// Counters since the last reset; use with count() alone.
SoftwareGpuCounters counted();
void count(long long SoftwareGpuCounters::* which, long long by = 1);
void record_launch(long long grid, long long block);
void clear_counters();

}  // namespace software_gpu

#define SOFTWARE_GPU_ENTER(function)                                                              \
  if (const auto entered = software_gpu::enter(#function); entered != cerar::runtime::kCuSuccess) \
  return entered
#define SOFTWARE_GPU_TRY(expression) \
  if (const auto tried = (expression); tried != cerar::runtime::kCuSuccess) return tried
