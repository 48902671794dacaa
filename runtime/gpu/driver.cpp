#include "runtime/gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/base/error.h"

namespace cerar::runtime {

SharedLibrary::SharedLibrary(const std::string& name, const std::string& needed_for)
    : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_)
    throw Error(ErrorCode::unsupported,
                fmt::format("{} cannot be opened ({}); {}", name, dlerror(), needed_for));
}

void* SharedLibrary::symbol(const char* name) const {
  if (void* address = dlsym(handle_, name)) return address;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} has no function {}; install a newer version of it.", name_, name));
}

namespace {

constexpr int kOldest = 11040;
constexpr const char* kNoDevice =
    "the NVIDIA driver finds no device; check CUDA_VISIBLE_DEVICES, or use a host communicator.";

Driver open_driver() {
  const SharedLibrary library("libcuda.so.1",
                              "GPU communicators need the NVIDIA driver, the others work without.");
  Driver driver;
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are a name and a list of parameters
#define CERAR_DRIVER_LOOKUP(name, parameters) \
  driver.name = reinterpret_cast<CuResult(*) parameters>(library.symbol(#name));
  CERAR_DRIVER_FUNCTIONS(CERAR_DRIVER_LOOKUP)
#undef CERAR_DRIVER_LOOKUP
  // NOLINTEND(bugprone-macro-parentheses)
  const CuResult started = driver.cuInit(0);
  if (started == kCuNoDevice) throw Error(ErrorCode::unsupported, kNoDevice);
  if (started != kCuSuccess) {
    const char* sentence = nullptr;
    driver.cuGetErrorString(started, &sentence);
    throw Error(ErrorCode::unsupported,
                fmt::format("the NVIDIA driver does not start: {} (error {}); {}.",
                            sentence ? sentence : "unknown error", static_cast<int>(started),
                            started == kCuSystemDriverMismatch
                                ? "install its library in the version of the kernel module"
                                : "see what nvidia-smi says"));
  }
  int version = 0, devices = 0;
  driver.cuDriverGetVersion(&version);
  if (version < kOldest)
    throw Error(ErrorCode::unsupported,
                fmt::format("the NVIDIA driver supports CUDA {}.{} only; install one for 11.4 or newer.",
                            version / 1000, version % 1000 / 10));
  driver.cuDeviceGetCount(&devices);
  if (devices == 0) throw Error(ErrorCode::unsupported, kNoDevice);
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

std::string words_of(CuResult result) {
  const char *name = nullptr, *sentence = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &sentence);
  return fmt::format("{} ({})", sentence ? sentence : "unknown error",
                     name ? name : fmt::format("{}", static_cast<int>(result)).c_str());
}

void fail(CuResult result, const std::string& what) {
  const bool ours = result == kCuInvalidValue || result == kCuInvalidContext || result == kCuInvalidHandle;
  throw Error(
      ours ? ErrorCode::internal : ErrorCode::system,
      fmt::format("{} failed: {}; see the driver's documentation of this error.", what, words_of(result)));
}

Device::Device(int ordinal) : ordinal_(ordinal) {
  const Driver& d = driver();
  int devices = 0;
  check(d.cuDeviceGetCount(&devices), "counting devices");
  if (ordinal < 0 || ordinal >= devices)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("device {} does not exist; there are {}, numbered from 0.", ordinal, devices));
  check(d.cuDeviceGet(&handle_, ordinal), "opening device {}", ordinal);
  const auto attribute = [&](CuDeviceAttribute which) {
    int value = 0;
    check(d.cuDeviceGetAttribute(&value, which, handle_), "asking device {}", ordinal);
    return value;
  };
  architecture_ =
      fmt::format("sm_{}{}", attribute(kCuComputeCapabilityMajor), attribute(kCuComputeCapabilityMinor));
  multiprocessors_ = attribute(kCuMultiprocessorCount);
  char name[256] = {};
  check(d.cuDeviceGetName(name, sizeof(name) - 1, handle_), "asking device {}", ordinal);
  name_ = name;
  check(d.cuDevicePrimaryCtxRetain(&context_, handle_), "opening device {}", ordinal);
}

Device::~Device() { driver().cuDevicePrimaryCtxRelease_v2(handle_); }

OnDevice::OnDevice(const Device& device) {
  check(driver().cuCtxPushCurrent_v2(device.context()), "switching to device {}", device.ordinal());
}

OnDevice::~OnDevice() {
  CuContext before = nullptr;
  driver().cuCtxPopCurrent_v2(&before);
}

}  // namespace cerar::runtime
