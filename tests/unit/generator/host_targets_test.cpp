// Host kernels for every level of processors: what they lack as instructions is worked out by the kernels
// themselves, with the same bits, and asks no library for it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "generator/compile/host_compiler.h"
#include "generator/specialise/specialise.h"
#include "runtime/base/error.h"
#include "runtime/base/processor.h"
#include "runtime/base/temporary_directory.h"
#include "tests/unit/generator/variants.h"

namespace cerar::generator {
namespace {

/// The shim that every generated source begins with, and functions of it for many numbers.
std::string probes() {
  return specialise(make_kernel_spec(test::random_variant("sum", 3, 1))) + R"(
#define PROBE extern "C" __attribute__((visibility("default"))) void
PROBE fused(const float* a, const float* b, const float* c, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = cerar_fma(a[i], b[i], c[i]);
}
PROBE nearest(const float* a, int* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = cerar_nearest(a[i]);
}
)";
}

class Probes {
 public:
  explicit Probes(const std::string& target) {
    const auto path = directory_.path() / "probes.so";
    std::ofstream(path, std::ios::binary) << compile_host(probes(), target);
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw std::runtime_error(::dlerror());
  }
  ~Probes() { ::dlclose(handle_); }
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  TemporaryDirectory directory_;
  void* handle_ = nullptr;
};

std::vector<std::string> levels() {
  auto targets = processor_targets();
  std::erase_if(targets, [](const auto& target) { return processor_problem(target).has_value(); });
  return targets;
}

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<unsigned> bits;
  std::vector<float> list = {0.0f,
                             -0.0f,
                             1.0f,
                             -1.0f,
                             0x1p-149f,
                             -0x1p-149f,
                             0x1p-126f,
                             0x1.fffffep127f,
                             -0x1.fffffep127f,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             0x1.000002p0f,
                             0x1.fffffep0f,
                             0x1p-24f,
                             0x1p-25f,
                             3.0f};
  while (list.size() < count) list.push_back(std::bit_cast<float>(bits(engine)));
  return list;
}

void expect_same(float found, float expected, float a, float b, float c) {
  if (std::isnan(expected) ? !std::isnan(found)
                           : std::bit_cast<unsigned>(found) != std::bit_cast<unsigned>(expected))
    ADD_FAILURE() << std::hexfloat << a << " * " << b << " + " << c << " is " << found << " instead of "
                  << expected;
}

void check_fused(const Probes& probes, const std::vector<float>& a, const std::vector<float>& b,
                 const std::vector<float>& c) {
  std::vector<float> out(a.size());
  probes.function<void(const float*, const float*, const float*, float*, long)>("fused")(
      a.data(), b.data(), c.data(), out.data(), static_cast<long>(a.size()));
  for (std::size_t i = 0; i < a.size() && !testing::Test::HasFailure(); ++i)
    expect_same(out[i], std::fmaf(a[i], b[i], c[i]), a[i], b[i], c[i]);
}

TEST(HostTargets, FusedMultiplyAddRoundsOnce) {
  for (const auto& target : levels()) {
    SCOPED_TRACE(target);
    const Probes probes(target);
    constexpr std::size_t kCount = 400000;
    const auto a = numbers(kCount, 1), b = numbers(kCount, 2);
    check_fused(probes, a, b, numbers(kCount, 3));
    // Every special number beside every other.
    std::vector<float> x, y, z;
    for (const float one : numbers(17, 0))
      for (const float two : numbers(17, 0))
        for (const float three : numbers(17, 0)) x.push_back(one), y.push_back(two), z.push_back(three);
    check_fused(probes, x, y, z);
    // Sums that lie next to the middle between two numbers, where rounding twice shows, and cancel.
    std::vector<float> near(kCount), factor(kCount), addend(kCount);
    std::mt19937 engine(4);
    std::uniform_int_distribution<int> significand(1 << 23, (1 << 24) - 1), exponent(-60, 60);
    for (std::size_t i = 0; i < kCount; ++i) {
      near[i] = static_cast<float>(std::ldexp(significand(engine), exponent(engine)));
      factor[i] = static_cast<float>(significand(engine));
      const float product = near[i] * factor[i];
      addend[i] = static_cast<float>(
          std::ldexp(i % 2 ? -product : product, i % 3 ? static_cast<int>(i % 61) - 30 : 0));
    }
    check_fused(probes, near, factor, addend);
  }
}

TEST(HostTargets, NearestWholeNumbersHaveTiesToEven) {
  std::vector<float> values;
  for (int i = -40000; i <= 40000; ++i)
    for (const float part : {0.0f, 0.25f, 0.5f, 0.75f}) values.push_back(static_cast<float>(i) + part);
  for (const float value : {0x1p22f, -0x1p22f, 0x1.fffffep-2f, 0x1.000002p-1f, 1e-30f, -1e-40f, 0.5f})
    values.push_back(value);
  for (const auto& target : levels()) {
    const Probes probes(target);
    std::vector<int> out(values.size());
    probes.function<void(const float*, int*, long)>("nearest")(values.data(), out.data(),
                                                               static_cast<long>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(out[i], static_cast<int>(std::nearbyintf(values[i]))) << target << ": " << values[i];
  }
}

/// What assembly calls outside of it.
std::vector<std::string> called_symbols(const std::string& assembly) {
  std::vector<std::string> called;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("@PLT");
    if (at == std::string::npos) continue;
    const auto begin = line.find_last_of(" \t", at) + 1;
    called.push_back(line.substr(begin, at - begin));
  }
  return called;
}

void expect_alone(const runtime::Variant& variant) {
  // The one with the fewest instructions.
  const auto assembly =
      compile_host_assembly(specialise(make_kernel_spec(variant)), processor_targets().front());
  EXPECT_THAT(called_symbols(assembly), testing::Each(testing::AnyOf("memcpy", "memset", "memmove")))
      << variant.name;
}

TEST(HostTargets, KernelsCallNoLibraryOfMathematics) {
  using runtime::Wire;
  auto plain = test::random_plain(4, 12), differential = test::random_variant("differential", 4, 3);
  expect_alone(plain);
  expect_alone(differential);
  auto sum = test::random_variant("sum", 4, 1);
  for (const Wire wire : {Wire::bf16, Wire::f16, Wire::fx16, Wire::fx12, Wire::fx8}) {
    sum.wire = wire;
    expect_alone(sum);
  }
}

TEST(HostTargets, UnknownOnesAreRefusedWithTheKnown) {
  try {
    compile_host(probes(), "x86-64-v9");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("x86-64-v9"),
                                             testing::HasSubstr(processor_targets().front())));
  }
}

TEST(Processor, RunsItsOwnTargetAndThoseBefore) {
  const auto targets = processor_targets();
  bool runs = true;
  for (const auto& target : targets) {
    EXPECT_EQ(!processor_problem(target), runs) << target;
    if (target == processor_target()) runs = false;
  }
  EXPECT_FALSE(runs) << "the processor's own is among them";
  EXPECT_FALSE(processor_problem(host_target())) << "what is built by default runs here";
}

TEST(Processor, NamesBothWhereItDoesNotRunOne) {
  for (const auto* target : {"x86-64-v9", "generic-vax", ""})
    EXPECT_THAT(processor_problem(target).value_or(""),
                testing::AllOf(testing::HasSubstr(target), testing::HasSubstr(processor_target())));
}

}  // namespace
}  // namespace cerar::generator
