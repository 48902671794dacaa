// Command lines that cerar-bench cannot serve.
#include <gtest/gtest.h>

#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"

namespace cerar::test {
namespace {

class Bench : public testing::TestWithParam<RefusedCase> {};

TEST_P(Bench, IsRefused) {
  std::vector<std::string> arguments = {"--plan", exact_plan().string()};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  expect_refused(fresh_directory("bench"), CERAR_BENCH, arguments, GetParam().words);
}

const RefusedCase kCases[] = {
    {"SizeAsAWord", {"-b", "much"}, {"'much'", "64K"}},
    {"SizeNegative", {"-b", "-5"}, {"'-5'", "64K"}},
    {"SizeWithUnknownUnit", {"-b", "4X"}, {"'4X'", "64K"}},
    {"SizeWithFraction", {"-b", "1.5M"}, {"'1.5M'", "64K"}},
    {"SizeEmpty", {"-b", ""}, {"''", "64K"}},
    {"SizeBeyondLimit", {"-e", "5000G"}, {"'5000G'", "4096G"}},
    {"SizeBeyondWord", {"-e", "99999999999999999999"}, {"'99999999999999999999'", "4096G"}},
    {"SizesTurnedAround", {"-b", "1M", "-e", "1K"}, {"1M", "1K", "must not exceed"}},
    {"FactorOne", {"-f", "1"}, {"factor", "1", "must exceed 1"}},
    {"FactorZero", {"-f", "0"}, {"factor", "0", "must exceed 1"}},
    {"FactorNegative", {"-f", "-2"}, {"factor", "-2", "must exceed 1"}},
    {"FactorNan", {"-f", "nan"}, {"factor", "nan", "must exceed 1"}},
    {"FactorAsAWord", {"-f", "two"}, {"two", "--help"}},
    {"NoIterations", {"-n", "0"}, {"--iters", "0", "--help"}},
    {"IterationsAsAWord", {"-n", "many"}, {"--iters", "many"}},
    {"NegativeWarmups", {"-w", "-1"}, {"--warmup_iters", "-1"}},
    {"UnknownOperation", {"--op", "max"}, {"--op is 'max'", "sum, average"}},
    {"UnknownInput", {"--input", "zeros"}, {"--input is 'zeros'", "normal, equal, integers"}},
    {"UnknownTransport", {"--transport", "pigeon"}, {"--transport is 'pigeon'", "local"}},
    {"RankWithoutSize", {"--transport", "nccl", "--rank", "3"}, {"--rank, --size and --store"}},
    {"RankBeyondSize",
     {"--transport", "nccl", "--rank", "8", "--size", "8", "--store", "file:x"},
     {"--rank is 8", "0..7"}},
    {"NegativeRank",
     {"--transport", "gloo", "--rank", "-1", "--size", "8", "--store", "file:x"},
     {"--rank is -1", "0..7"}},
    {"NegativeSize",
     {"--transport", "nccl", "--rank", "0", "--size", "-3", "--store", "file:x"},
     {"--size is -3", "1..4096"}},
    {"MpiWithoutMpi", {"--transport", "mpi"}, {"cerar-bench-mpi", "mpirun"}},
    {"UnknownType", {"--dtype", "f64"}, {"--dtype is 'f64'", "f32, bf16, f16"}},
    {"DevicesAsAWord", {"--devices", "all"}, {"--devices", "all"}},
    {"UnknownOption", {"--frobnicate"}, {"--frobnicate", "--help"}},
};

INSTANTIATE_TEST_SUITE_P(CommandLine, Bench, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(BenchPlan, NotGiven) { expect_refused(fresh_directory("bench"), CERAR_BENCH, {}, {"--plan", "--help"}); }

TEST(BenchPlan, Missing) {
  expect_refused(fresh_directory("bench"), CERAR_BENCH, {"--plan", "nowhere"},
                 {"nowhere/plan.yaml", "cerar-tune"});
}

TEST(BenchPlan, Altered) {
  const auto plan = copy_of(exact_plan());
  write_text(plan / "plan.yaml", replaced(read_text(plan / "plan.yaml"), "lanes: 2", "lanes: 3"));
  expect_refused(fresh_directory("bench"), CERAR_BENCH, {"--plan", plan.string()}, {"plan.yaml", "digest"});
}

TEST(BenchPlan, WithoutItsKernels) {
  const auto plan = copy_of(exact_plan());
  std::filesystem::remove(plan / "kernels" / "ring-c2.host.so");
  expect_refused(fresh_directory("bench"), CERAR_BENCH, {"--plan", plan.string()},
                 {"kernels/ring-c2.host.so is missing", "cerar-tune"});
}

}  // namespace
}  // namespace cerar::test
