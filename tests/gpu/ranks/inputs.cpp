#include "tests/gpu/ranks/inputs.h"

#include <algorithm>
#include <thread>

#include "runtime/plan/plan_file.h"

namespace cerar::test {

RankInputs::RankInputs(runtime::Input kind, int ranks, std::size_t most, cerarDataType_t type)
    : kind_(kind), type_(type), bytes_(static_cast<std::size_t>(ranks)), sums_(most) {
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank)
    threads.emplace_back([&, rank] {
      const auto values = runtime::make_input(kind, static_cast<int>(rank), most);
      bytes_[rank] = runtime::packed(type, values);
    });
  threads.clear();
  for (const auto& bytes : bytes_) {
    const auto values = runtime::unpacked(type, bytes);
    for (std::size_t i = 0; i < most; ++i) sums_[i] += values[i];
  }
}

runtime::Input input_for(const std::string& plan_directory) {
  const auto plan = runtime::load_plan(plan_directory);
  return std::all_of(plan.variants.begin(), plan.variants.end(), runtime::is_exact) ? runtime::Input::integers
                                                                                    : runtime::Input::normal;
}

}  // namespace cerar::test
