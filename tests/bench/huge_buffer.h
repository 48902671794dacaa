#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace cerar::test {

/// f32 elements on huge pages where the system gives them, filled with small numbers that never grow out of
/// range.
class HugeBuffer {
 public:
  explicit HugeBuffer(std::size_t count) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    const std::size_t bytes = (count * sizeof(float) + kPage - 1) / kPage * kPage;
    data_ = static_cast<float*>(std::aligned_alloc(kPage, bytes));
    if (!data_) throw std::bad_alloc();
    madvise(data_, bytes, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < count; ++i) data_[i] = static_cast<float>(i % 1013) * 1e-3f - 0.5f;
  }
  ~HugeBuffer() { std::free(data_); }
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;

  float* data() { return data_; }

 private:
  float* data_;
};

}  // namespace cerar::test
