#pragma once

#include <memory>
#include <string>

#include "runtime/gpu/driver.h"

namespace cerar::runtime {

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
