#pragma once

// The one shim between the kernels and the four compilers that read them: NVRTC and nvcc (GPU code), Clang
// in CUDA mode (the specialiser, which sees no CUDA headers) and Clang or GCC for the host. It includes no
// system header; the specialiser pastes it in front of the generated source.

#include "templates/visit_arguments.h"

// Annotations that the specialiser acts on: a parameter's initialiser is replaced, a kernel is renamed.
#if defined(__clang__)
#define CERAR_ANNOTATE(what) __attribute__((annotate("cerar::" what)))
#else
#define CERAR_ANNOTATE(what)
#endif

// Tables are read by all threads at once, which constant memory is for; it holds 64 KiB.
#if !defined(CERAR_TABLE_BYTES) || CERAR_TABLE_BYTES <= 65536
#define CERAR_CONSTANT_TABLES 1
#endif

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)  // NVRTC, nvcc
#define CERAR_GPU 1
#define CERAR_DEVICE __device__ __forceinline__
#define CERAR_CONSTEXPR __device__ constexpr
#define CERAR_PARAMETER CERAR_ANNOTATE("parameter") __device__ constexpr
#if defined(CERAR_CONSTANT_TABLES)
#define CERAR_TABLE CERAR_ANNOTATE("parameter") __constant__ constexpr
#else
#define CERAR_TABLE CERAR_PARAMETER
#endif
#define CERAR_KERNEL extern "C" CERAR_ANNOTATE("kernel") __global__ void
#elif defined(__CUDA__)  // Clang in CUDA mode
#define CERAR_GPU 1
#define CERAR_DEVICE __attribute__((device)) inline
#define CERAR_CONSTEXPR __attribute__((device)) constexpr
#define CERAR_PARAMETER CERAR_ANNOTATE("parameter") __attribute__((device)) constexpr
#define CERAR_TABLE CERAR_ANNOTATE("parameter") __attribute__((constant)) constexpr
#define CERAR_KERNEL extern "C" CERAR_ANNOTATE("kernel") __attribute__((global)) void
struct cerar_dim3 {
  unsigned x, y, z;
};
extern const __attribute__((device)) cerar_dim3 threadIdx, blockIdx, blockDim, gridDim;
__attribute__((device)) float __fmaf_rn(float, float, float);
__attribute__((device)) int __float2int_rn(float);
__attribute__((device)) unsigned __float_as_uint(float);
__attribute__((device)) float __uint_as_float(unsigned);
__attribute__((device)) unsigned __shfl_sync(unsigned, unsigned, int, int = 32);
__attribute__((device)) unsigned __shfl_xor_sync(unsigned, unsigned, int, int = 32);
#else  // host
#define CERAR_GPU 0
#define CERAR_DEVICE static inline __attribute__((always_inline))
#define CERAR_CONSTEXPR constexpr
#define CERAR_PARAMETER CERAR_ANNOTATE("parameter") constexpr
#define CERAR_TABLE CERAR_PARAMETER
#if !defined(CERAR_KERNEL)  // a program may link kernels in as functions of its own
#define CERAR_KERNEL extern "C" CERAR_ANNOTATE("kernel") __attribute__((visibility("default"))) void
// Lets the loader of a host build check that both sides agree on the parameter blocks.
extern "C" {
extern const unsigned cerar_visit_arguments_size __attribute__((visibility("default")));
extern const unsigned cerar_convert_arguments_size __attribute__((visibility("default")));
const unsigned cerar_visit_arguments_size = sizeof(cerar_visit_arguments);
const unsigned cerar_convert_arguments_size = sizeof(cerar_convert_arguments);
}
#endif
#endif

// A text that every build of a file of kernels holds as it stands, for whoever loads it.
#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define CERAR_MARK(text) extern "C" __device__ const char cerar_kernel_mark[sizeof(text)] = text
#else
#define CERAR_MARK(text)                                                                    \
  extern "C" {                                                                              \
  extern const char cerar_kernel_mark[sizeof(text)] __attribute__((visibility("default"))); \
  const char cerar_kernel_mark[sizeof(text)] = text;                                        \
  }                                                                                         \
  static_assert(true, "")
#endif

// Every product is an explicit fused multiply-add and every step rounds once, so that CPU and GPU agree bit
// for bit.
CERAR_DEVICE unsigned cerar_bits(float value) {
#if CERAR_GPU
  return __float_as_uint(value);
#else
  return __builtin_bit_cast(unsigned, value);
#endif
}
CERAR_DEVICE float cerar_float(unsigned bits) {
#if CERAR_GPU
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}

// Processors without the instructions for these two would call a library for each element, which may not even
// be there.
CERAR_DEVICE float cerar_fma(float a, float b, float c) {
#if CERAR_GPU
  return __fmaf_rn(a, b, c);
#elif !defined(__x86_64__) || defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  // The product is exact in double. The sum is made odd where it is not exact, so that rounding it to f32
  // does not round a second time (Boldo, Melquiond: Emulation of FMA and correctly rounded sums).
  const double product = (double)a * b, sum = product + c;
  const double added = sum - product, lost = (product - (sum - added)) + (c - added);
  const long long bits = __builtin_bit_cast(long long, sum);
  const long long away = (lost > 0) == (sum > 0) ? 1 : -1;
  const bool inexact = lost > 0 || lost < 0;  // neither where it is no number
  return (float)__builtin_bit_cast(double, inexact && (bits & 1) == 0 ? bits + away : bits);
#endif
}

/// To the nearest whole number, ties to even; the magnitude of `value` is at most 2^22.
CERAR_DEVICE int cerar_nearest(float value) {
#if CERAR_GPU
  return __float2int_rn(value);
#else  // the sum has no bits below 1, and holds the whole number in its lower bits
  return (int)(cerar_bits(value + 0x1.8p23f) - cerar_bits(0x1.8p23f));
#endif
}

/// Says that elements of the vector, or of f32 messages, are read or written here. A host build may count
/// them.
#if !defined(CERAR_TOUCHES)
#define CERAR_TOUCHES(elements)
#endif

/// W neighbouring elements of one line.
template <int W>
struct alignas(W * sizeof(float)) cerar_pack {
  float at[W];
};

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_load(const float* from) {
  CERAR_TOUCHES(W);
#if CERAR_GPU
  return *reinterpret_cast<const cerar_pack<W>*>(from);
#else  // vectors of hosts may start anywhere
  cerar_pack<W> value;
  for (int i = 0; i < W; ++i) value.at[i] = from[i];
  return value;
#endif
}

template <int W>
CERAR_DEVICE void cerar_store(float* to, const cerar_pack<W>& value) {
  CERAR_TOUCHES(W);
#if CERAR_GPU
  // A pack whose elements live in registers would be stored one by one.
  if constexpr (W == 4) {
    asm volatile(
        "{ .reg .u64 at; cvta.to.global.u64 at, %0; st.global.v4.f32 [at], {%1, %2, %3, %4}; }" ::"l"(to),
        "f"(value.at[0]), "f"(value.at[1]), "f"(value.at[2]), "f"(value.at[3])
        : "memory");
    return;
  }
  *reinterpret_cast<cerar_pack<W>*>(to) = value;
#else
  for (int i = 0; i < W; ++i) to[i] = value.at[i];
#endif
}

/// Asks for the cache lines of `elements` elements that will be needed soon. Rows lie further apart than
/// hardware prefetchers look ahead, and a visit touches only a few lines of each. GPUs hide this by
/// themselves.
CERAR_DEVICE void cerar_prefetch([[maybe_unused]] const float* from, [[maybe_unused]] int elements) {
#if !CERAR_GPU
  for (int i = 0; i < elements; i += 16) __builtin_prefetch(from + i, 0, 3);
#endif
}

// The element loops, over `lines` lines of `interleave` elements or over `elements` contiguous ones. On the
// GPU: grid-stride over packs of W elements. On the host: plain loops that the compiler vectorises; distinct
// elements of a class never depend on each other, whatever aliases, because an element's loads all come
// before its stores and every pointer is indexed alike. `before_row` is a statement for the host, once per
// line. A line's loop must not be unrolled before it is vectorised.
#if CERAR_GPU
#define CERAR_FOR_EACH_IN_LINES(W, lines, interleave, row, lane, before_row)                     \
  for (long long cerar_at = (long long)blockIdx.x * blockDim.x + threadIdx.x;                    \
       cerar_at < (lines) * ((interleave) / (W)); cerar_at += (long long)gridDim.x * blockDim.x) \
    if (const long long row = cerar_at / ((interleave) / (W)); true)                             \
      if (const int lane = (int)(cerar_at % ((interleave) / (W))) * (W); true)
#define CERAR_FOR_EACH(W, elements, at)                                                          \
  for (long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * (W); at < (elements); \
       at += (long long)gridDim.x * blockDim.x * (W))
#else
#define CERAR_FOR_EACH_IN_LINES(W, lines, interleave, row, lane, before_row)                             \
  for (long long row = 0; row < (lines); ++row)                                                          \
    if (before_row; true)                                                                                \
  _Pragma("clang loop vectorize(assume_safety) unroll(disable)") for (int lane = 0; lane < (interleave); \
                                                                      lane += (W))
#define CERAR_FOR_EACH(W, elements, at) \
  _Pragma("clang loop vectorize(assume_safety)") for (long long at = 0; at < (elements); at += (W))
#endif
