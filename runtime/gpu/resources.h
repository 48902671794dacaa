#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/gpu/driver.h"

/// What a device hands out, released with its owner. Owners keep the device alive; they are made and
/// destroyed with any context current. All constructors throw what `check` throws.
namespace cerar::runtime {

using DeviceHandle = std::shared_ptr<const Device>;

/// Device memory, aligned to 256 bytes; empty for 0 bytes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceHandle device, std::uint64_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  CuAddress address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }

  DeviceHandle device_;
  CuAddress address_ = 0;
  std::uint64_t bytes_ = 0;
};

/// A handle that a function of the driver destroys.
template <typename Handle>
class DeviceResource {
 public:
  DeviceResource() = default;
  ~DeviceResource() {
    if (!handle_) return;
    try {
      const OnDevice current(*device_);
      (driver().*destroy_)(handle_);
    } catch (...) {  // a lost device takes its resources with it
    }
  }
  DeviceResource(DeviceResource&& other) noexcept { swap(other); }
  DeviceResource& operator=(DeviceResource&& other) noexcept {
    swap(other);
    return *this;
  }

  Handle get() const { return handle_; }

 protected:
  using Destroy = CuResult (*Driver::*)(Handle);
  DeviceResource(DeviceHandle device, Destroy destroy) : device_(std::move(device)), destroy_(destroy) {}

  DeviceHandle device_;
  Destroy destroy_ = nullptr;
  Handle handle_ = nullptr;

 private:
  void swap(DeviceResource& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(destroy_, other.destroy_);
    std::swap(handle_, other.handle_);
  }
};

/// A stream that does not wait for the legacy default stream. It has the greatest priority, so that its
/// kernels get free multiprocessors before those of the caller's streams: the other ranks wait for them.
class DeviceStream : public DeviceResource<CuStream> {
 public:
  DeviceStream() = default;
  explicit DeviceStream(DeviceHandle device);
};

/// An event without timing.
class DeviceEvent : public DeviceResource<CuEvent> {
 public:
  DeviceEvent() = default;
  explicit DeviceEvent(DeviceHandle device);
};

/// A loaded cubin.
class DeviceModule : public DeviceResource<CuModule> {
 public:
  DeviceModule() = default;
  /// `name` is for errors.
  DeviceModule(DeviceHandle device, const std::string& image, const std::string& name);

  /// Throws `invalid_plan` when the module lacks it.
  CuFunction function(const std::string& entry) const;

 private:
  std::string name_;
};

/// Records `event` behind what `stream` holds; the other stream's later work waits for it.
void record(const DeviceEvent& event, CuStream stream);
void wait(CuStream stream, const DeviceEvent& event);

}  // namespace cerar::runtime
