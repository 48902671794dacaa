#include "runtime/bench/device_vectors.h"

#include "runtime/gpu/resources.h"
#include "runtime/measure/element_type.h"

namespace cerar::runtime {
namespace {

class DeviceVectors : public CallVectors {
 public:
  explicit DeviceVectors(int device) : device_(std::make_shared<const Device>(device)), stream_(device_) {}

  void reserve(std::size_t bytes) override {
    grow(input_, bytes);
    grow(output_, bytes);
  }

  void load(const std::vector<float>& input, const MeasureOptions& options) override {
    type_ = options.type;
    count_ = input.size();
    in_place_ = options.in_place;
    if (in_place_) return write(output_, input);
    write(input_, input);
    write(output_, poison(count_));
  }

  void all_reduce(cerarComm_t comm, cerarRedOp_t op) override {
    require_success(cerarAllReduce(pointer(in_place_ ? output_ : input_), pointer(output_), count_, type_, op,
                                   comm, stream_.get()));
  }

  void wait(cerarComm_t comm) override {
    const OnDevice current(*device_);
    check(driver().cuStreamSynchronize(stream_.get()), "waiting for calls on device {}", device_->ordinal());
    cerarResult_t error = cerarSuccess;
    require_success(cerarCommGetAsyncError(comm, &error));
    require_success(error);
  }

  std::vector<float> result() const override {
    const OnDevice current(*device_);
    std::vector<std::byte> bytes(count_ * element_bytes(type_));
    if (bytes.empty()) return {};
    check(driver().cuMemcpyDtoHAsync_v2(bytes.data(), output_.address(), bytes.size(), stream_.get()),
          "copying {} bytes from device {}", bytes.size(), device_->ordinal());
    check(driver().cuStreamSynchronize(stream_.get()), "copying from device {}", device_->ordinal());
    return unpacked(type_, bytes);
  }

 private:
  static void* pointer(const DeviceBuffer& buffer) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(buffer.address()));
  }

  void grow(DeviceBuffer& buffer, std::size_t bytes) const {
    if (buffer.bytes() >= bytes) return;
    buffer = {};  // before there is another
    buffer = DeviceBuffer(device_, bytes);
  }

  void write(DeviceBuffer& buffer, const std::vector<float>& values) {
    const auto bytes = packed(type_, values);
    const OnDevice current(*device_);
    grow(buffer, bytes.size());
    if (bytes.empty()) return;
    check(driver().cuMemcpyHtoDAsync_v2(buffer.address(), bytes.data(), bytes.size(), stream_.get()),
          "copying {} bytes to device {}", bytes.size(), device_->ordinal());
    check(driver().cuStreamSynchronize(stream_.get()), "copying to device {}", device_->ordinal());
  }

  const DeviceHandle device_;
  const DeviceStream stream_;
  DeviceBuffer input_, output_;
  std::size_t count_ = 0;
  cerarDataType_t type_ = cerarFloat32;
  bool in_place_ = false;
};

}  // namespace

std::unique_ptr<CallVectors> make_device_vectors(int device) {
  return std::make_unique<DeviceVectors>(device);
}

int device_count() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "counting devices");
  return count;
}

}  // namespace cerar::runtime
