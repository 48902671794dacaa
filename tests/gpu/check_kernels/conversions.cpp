#include "tests/gpu/check_kernels/conversions.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/measure/measure.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/names.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr std::size_t kGuard = 64;  // elements
constexpr unsigned char kPoison = 0xa5;

bool is_nan16(std::uint16_t bits, DataType type) {
  const std::uint16_t infinity = type == DataType::bf16 ? 0x7f80 : 0x7c00;
  return (bits & 0x7fff) > infinity;
}

// Packs of four are moved where the count is a multiple of four and the vectors are aligned, so both are
// tried with and without: `extra` elements more than a multiple.
constexpr std::size_t kExtras[] = {0, 3};

std::vector<std::uint16_t> all_halves(std::size_t extra) {
  std::vector<std::uint16_t> halves(65536 + extra);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  return halves;
}

// Every value in 16 bits, its neighbours in f32, the middles between it and the next one, and normal numbers.
std::vector<float> interesting_floats(DataType type, std::size_t extra) {
  const auto halves = all_halves(0);
  std::vector<float> exact(halves.size());
  widen(type, halves.data(), 0, halves.size(), exact.data());
  std::vector<float> values = exact;
  for (std::size_t i = 0; i + 1 < 65536; ++i) {
    values.push_back(std::nextafterf(exact[i], INFINITY));
    values.push_back(exact[i] / 2 + exact[i + 1] / 2);
    values.push_back(std::nextafterf(values.back(), -INFINITY));
  }
  const auto normal = make_input(Input::normal, 0, 10000);
  values.insert(values.end(), normal.begin(), normal.end());
  values.resize(values.size() / 4 * 4 + extra, 1.0f / 3.0f);
  return values;
}

// One launch from a copy of `from` to poisoned memory between guard zones; all of that.
template <typename To, typename From>
std::vector<To> convert(const DeviceHandle& device, CuStream stream, const DeviceKernel& kernel,
                        const std::vector<From>& from, DataType type, int width) {
  const std::size_t skew = width == 1 ? 1 : 0;
  std::vector<To> result(from.size() + 2 * kGuard + skew);
  std::memset(result.data(), kPoison, result.size() * sizeof(To));
  const DeviceBuffer source(device, (from.size() + skew) * sizeof(From));
  const DeviceBuffer target(device, result.size() * sizeof(To));
  const CuAddress begin = source.address() + skew * sizeof(From);
  const CuAddress to = target.address() + (kGuard + skew) * sizeof(To);
  check(driver().cuMemcpyHtoDAsync_v2(begin, from.data(), from.size() * sizeof(From), stream), "copying");
  check(driver().cuMemcpyHtoDAsync_v2(target.address(), result.data(), result.size() * sizeof(To), stream),
        "copying");
  const cerar_convert_arguments arguments{
      .from = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(begin)),
      .to = reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)),
      .elements = static_cast<long long>(from.size()),
      .is_bf16 = type == DataType::bf16,
      .vector_width = width};
  kernel.launch(arguments, static_cast<long long>(from.size() / 4), stream);
  check(driver().cuMemcpyDtoHAsync_v2(result.data(), target.address(), result.size() * sizeof(To), stream),
        "copying");
  check(driver().cuStreamSynchronize(stream), "waiting for a conversion");
  result.erase(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(skew));
  return result;
}

// `result` lies between guard zones, `wanted` does not.
template <typename Bits, typename To, typename IsNan>
void compare(const std::vector<To>& result, const std::vector<To>& wanted, const std::string& what,
             IsNan is_nan, Report& report) {
  Bits poison;
  std::memset(&poison, kPoison, sizeof poison);
  std::uint64_t different = 0, guards = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Bits got = std::bit_cast<Bits>(result[i]);
    if (i < kGuard || i >= kGuard + wanted.size()) {
      guards += got != poison;
      continue;
    }
    const Bits right = std::bit_cast<Bits>(wanted[i - kGuard]);
    different += got != right && !(is_nan(got) && is_nan(right));
  }
  if (different || guards)
    report.fail(
        fmt::format("{}: {} of {} elements differ from the host's, {} of the guard zones are "
                    "overwritten",
                    what, different, wanted.size(), guards));
}

}  // namespace

std::uint64_t check_conversions(const DeviceHandle& device, CuStream stream, const DeviceKernelTable& kernels,
                                const std::string& name, Report& report) {
  std::uint64_t elements = 0;
  for (const DataType type : {DataType::bf16, DataType::f16})
    for (const auto& [width, extra] :
         {std::pair{4, kExtras[0]}, {4, kExtras[1]}, {1, kExtras[0]}, {1, kExtras[1]}}) {
      const auto halves = all_halves(extra);
      const std::string what =
          fmt::format("of {}, {}, width {}, {} elements more than packs", name, name_of(type), width, extra);
      std::vector<float> wide(halves.size());
      widen(type, halves.data(), 0, halves.size(), wide.data());
      compare<std::uint32_t>(
          convert<float>(device, stream, kernels[static_cast<std::size_t>(Role::widen)], halves, type, width),
          wide, "widen " + what, [](std::uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }, report);
      const auto floats = interesting_floats(type, extra);
      std::vector<std::uint16_t> thin(floats.size());
      narrow(type, floats.data(), floats.size(), thin.data(), 0);
      compare<std::uint16_t>(
          convert<std::uint16_t>(device, stream, kernels[static_cast<std::size_t>(Role::narrow)], floats,
                                 type, width),
          thin, "narrow " + what, [&](std::uint16_t bits) { return is_nan16(bits, type); }, report);
      elements += halves.size() + floats.size();
    }
  return elements;
}

}  // namespace cerar::test
