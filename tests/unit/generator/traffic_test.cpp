// How much memory the kernels touch in a whole all-reduce, counted by the kernels themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/comm/pieces.h"
#include "runtime/plan/names.h"
#include "runtime/plan/schedule.h"
#include "tests/gpu/bandwidth/kernel_bytes.h"
#include "tests/support/plans.h"
#include "tests/unit/generator/host_library.h"
#include "tuner/cost/cost_model.h"

namespace cerar::generator {
namespace {

using runtime::Construction;

/// Each element read or written, whatever caches make of it. A call that is not inlined keeps the loops,
/// which promise that their elements are independent, from being vectorised around the counter.
constexpr const char* kCounter = R"(
extern "C" {
__attribute__((visibility("default"))) unsigned long long touched = 0;
}
__attribute__((noinline)) static void touch(int elements) { touched += (unsigned)elements; }
#define CERAR_TOUCHES(elements) touch(elements)
)";

/// All visits of all ranks, in place, on whole rows.
struct AllReduce {
  double accesses = 0;  ///< per element of a rank's vector, averaged over ranks
  double error = 0;     ///< relative rms
  int differ = 0;       ///< visits that make other accesses than kernel_bytes says
  std::string first;    ///< of these
};

AllReduce run(const runtime::Variant& variant) {
  const test::HostLibrary library(make_kernel_spec(variant), kCounter);
  auto& touched = *static_cast<unsigned long long*>(library.symbol("touched"));
  const runtime::Shape& shape = variant.shape;
  AllReduce result;
  const int ranks = shape.workers, rows = 2;
  const auto message = static_cast<std::size_t>(rows * variant.interleave);
  const std::size_t class_elements = message * static_cast<std::size_t>(shape.terms);
  const std::size_t count = class_elements * static_cast<std::size_t>(shape.classes);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> vectors(static_cast<std::size_t>(ranks), std::vector<float>(count));
  std::vector<double> sum(count, 0.0);
  for (auto& vector : vectors)
    for (std::size_t i = 0; i < count; ++i) sum[i] += vector[i] = normal(engine);

  const auto early_class = runtime::early_class_elements(variant, rows, false);
  const auto early_elements = static_cast<std::size_t>(early_class) * static_cast<std::size_t>(shape.classes);
  std::vector<std::vector<float>> early(vectors.size(), std::vector<float>(early_elements));
  std::vector<std::vector<float>> sent(vectors.size(), std::vector<float>(message)), received = sent;
  for (int visit = 1; visit <= shape.visits; ++visit) {
    for (std::size_t rank = 0; rank < vectors.size(); ++rank) {
      const auto step = runtime::step_at(shape, variant.messages, static_cast<int>(rank), visit);
      float* const slots = vectors[rank].data() + class_elements * static_cast<std::size_t>(step.class_index);
      const cerar_visit_arguments arguments{
          .input = slots,
          .slots = slots,
          .tail = nullptr,
          .early = early_elements
                       ? early[rank].data() + early_class * static_cast<std::size_t>(step.class_index)
                       : nullptr,
          .received = step.receives ? received[rank].data() : nullptr,
          .message = step.sends ? sent[rank].data() : nullptr,
          .elements = static_cast<long long>(message),
          .phase = step.phase,
          .sample = step.sample,
          .divisor = 1,
          .received_as = {1, 1, 0},
          .message_as = {1, 1, 0},
          .vector_width = 1};
      const auto before = touched;
      library.run(std::string(runtime::name_of(step.role)), arguments);
      // What the programs for GPUs take its bytes for.
      const auto bytes = test::kernel_bytes(variant, step, arguments);
      result.differ += (touched - before) * sizeof(float) != bytes;
      if (result.differ == 1 && result.first.empty() && (touched - before) * sizeof(float) != bytes)
        result.first = fmt::format("{} of phase {}, sample {}: {} bytes, counted {}", name_of(step.role),
                                   step.phase, step.sample, (touched - before) * sizeof(float), bytes);
    }
    for (std::size_t rank = 0; rank < vectors.size(); ++rank)
      received[(rank + 1) % vectors.size()] = sent[rank];
  }

  double error = 0, norm = 0;
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < count; ++i) {
      error += std::pow(vector[i] - sum[i], 2);
      norm += sum[i] * sum[i];
    }
  result.accesses = static_cast<double>(touched) / static_cast<double>(count * vectors.size());
  result.error = std::sqrt(error / norm);
  return result;
}

class Traffic : public ::testing::TestWithParam<int> {};

TEST_P(Traffic, IsAtMostEightAccessesPerElement) {
  const int workers = GetParam();
  const auto check = [&](const char* family, Construction construction, int terms) {
    const auto plan = test::design_plan(construction, workers, terms * workers);
    ASSERT_EQ(plan.variants.size(), 1u);
    const runtime::Variant& variant = plan.variants[0];
    const AllReduce result = run(variant);
    std::printf("N = %2d  %-12s r = %2d  %.3f d\n", workers, family, terms, result.accesses);
    EXPECT_LE(result.accesses, 8) << family << ", r = " << terms;
    EXPECT_GT(result.accesses, 4) << family << ", r = " << terms << ": less than the ring must touch";
    // What the cost model takes it for. (Sums pass a message on by reading it a second time, which compilers
    // drop.)
    if (terms > 1) {
      EXPECT_NEAR(result.accesses, tuner::accesses_per_element(variant.shape, variant.messages), 1e-9)
          << family << ", r = " << terms;
      EXPECT_EQ(result.differ, 0) << family << ", r = " << terms << ": " << result.first;
    }
    // The visits were those of an all-reduce.
    EXPECT_LT(result.error, 1.5 * variant.claim.total + 1e-6) << family << ", r = " << terms;
  };
  check("sum", Construction::ring, 1);
  for (const int terms : {2, 3, 4}) check("plain", Construction::harmonic, terms);
  for (const int terms : {2, 3, 4, 8, 16, 32, 64}) check("differential", Construction::differential, terms);
}

// Also where symbols wait for their visit beside the vector.
TEST(KernelBytes, AreWhatKernelsAccess) {
  for (const auto& [construction, workers, components] : {std::tuple{Construction::unimodular, 8, 3},
                                                          {Construction::unimodular, 8, 6},
                                                          {Construction::harmonic, 8, 12},
                                                          {Construction::harmonic, 4, 7},
                                                          {Construction::differential, 4, 20}}) {
    const auto plan = test::design_plan(construction, workers, components);
    const AllReduce result = run(plan.variants.at(0));
    EXPECT_EQ(result.differ, 0) << "N = " << workers << ", c = " << components << ": " << result.first;
    EXPECT_LT(result.error, 1.5 * plan.variants[0].claim.total + 1e-6) << "c = " << components;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, Traffic, ::testing::Values(4, 8, 16));

}  // namespace
}  // namespace cerar::generator
