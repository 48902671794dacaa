#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "runtime/gpu/driver_api.h"

namespace cerar::runtime {

/// A shared library that is opened while the program runs and stays open until it ends.
class SharedLibrary {
 public:
  /// Throws `unsupported` when `name` cannot be opened; `needed_for` ends the sentence.
  SharedLibrary(const std::string& name, const std::string& needed_for);

  /// Throws `unsupported` when the library lacks it, saying that a newer one is needed.
  void* symbol(const char* name) const;

  void* handle() const { return handle_; }  ///< of dlopen

 private:
  std::string name_;
  void* handle_;
};

/// The functions of the CUDA driver, opened at the first use and never closed.
struct Driver {
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_DRIVER_POINTER(name, parameters) CuResult(*name) parameters = nullptr;
  CERAR_DRIVER_FUNCTIONS(CERAR_DRIVER_POINTER)
#undef CERAR_DRIVER_POINTER
  // NOLINTEND(bugprone-macro-parentheses)
};

/// Throws `unsupported` when there is no driver, when it is older than CUDA 11.4 or when it finds no device;
/// tries again at the next call.
const Driver& driver();

/// Throws `system`, or `internal` for errors that only a defect of CERAR's can cause, with the driver's own
/// words.
[[noreturn]] void fail(CuResult result, const std::string& what);

/// Does that unless the call succeeded. `what` is what was tried, and is only put into words when it failed:
/// check(result, "allocating {} bytes on device {}", bytes, ordinal).
template <typename... Values>
void check(CuResult result, fmt::format_string<const Values&...> what, const Values&... values) {
  if (result != kCuSuccess) fail(result, fmt::format(what, values...));
}

/// The driver's words for a result: "invalid argument (CUDA_ERROR_INVALID_VALUE)".
std::string words_of(CuResult result);

/// A GPU and its primary context, the one that the CUDA runtime and frameworks work in.
class Device {
 public:
  /// Retains the context. Throws `invalid_argument` for an ordinal that does not exist.
  explicit Device(int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  CuContext context() const { return context_; }
  const std::string& name() const { return name_; }                  ///< "NVIDIA A100 80GB PCIe"
  const std::string& architecture() const { return architecture_; }  ///< "sm_80"
  int multiprocessors() const { return multiprocessors_; }

 private:
  int ordinal_;
  CuDevice handle_ = 0;
  CuContext context_ = nullptr;
  std::string name_, architecture_;
  int multiprocessors_ = 1;
};

/// Makes a device's context the calling thread's while it lives, and then the one before again.
class OnDevice {
 public:
  explicit OnDevice(const Device& device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

/// While it lives, this thread may allocate, load and wait although other threads capture streams in the mode
/// that forbids it to all; it has nothing to do with their streams.
class OutsideCaptures {
 public:
  OutsideCaptures() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCaptures() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCaptures(const OutsideCaptures&) = delete;
  OutsideCaptures& operator=(const OutsideCaptures&) = delete;

 private:
  CuCaptureMode mode_ = kCuCaptureRelaxed;
};

}  // namespace cerar::runtime
