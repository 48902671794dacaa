#include "tests/gpu/ranks/inputs.h"

#include <algorithm>
#include <thread>

#include "runtime/executor/host/elements.h"
#include "runtime/plan/plan_file.h"

namespace cerar::test {
namespace {

runtime::DataType internal(cerarDataType_t type) {
  return type == cerarFloat32   ? runtime::DataType::f32
         : type == cerarFloat16 ? runtime::DataType::f16
                                : runtime::DataType::bf16;
}

}  // namespace

RankInputs::RankInputs(runtime::Input kind, int ranks, std::size_t most, cerarDataType_t type)
    : kind_(kind), type_(type), bytes_(static_cast<std::size_t>(ranks)), sums_(most) {
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank)
    threads.emplace_back([&, rank] {
      const auto values = runtime::make_input(kind, static_cast<int>(rank), most);
      bytes_[rank].resize(most * element_bytes(type));
      runtime::narrow(internal(type), values.data(), most, bytes_[rank].data(), 0);
    });
  threads.clear();
  for (const auto& bytes : bytes_) {
    const auto values = widened(bytes, type);
    for (std::size_t i = 0; i < most; ++i) sums_[i] += values[i];
  }
}

std::size_t element_bytes(cerarDataType_t type) { return type == cerarFloat32 ? 4 : 2; }

std::string name_of(cerarDataType_t type) {
  return type == cerarFloat32 ? "f32" : type == cerarFloat16 ? "f16" : "bf16";
}

std::vector<float> widened(const std::vector<std::byte>& bytes, cerarDataType_t type) {
  std::vector<float> values(bytes.size() / element_bytes(type));
  runtime::widen(internal(type), bytes.data(), 0, values.size(), values.data());
  return values;
}

double half_ulp(cerarDataType_t type) {
  return type == cerarFloat32 ? 0 : type == cerarFloat16 ? 0x1p-11 : 0x1p-8;
}

runtime::Input input_for(const std::string& plan_directory) {
  const auto plan = runtime::load_plan(plan_directory);
  return std::all_of(plan.variants.begin(), plan.variants.end(), runtime::is_exact) ? runtime::Input::integers
                                                                                    : runtime::Input::normal;
}

}  // namespace cerar::test
