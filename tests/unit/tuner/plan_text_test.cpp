// plan.yaml: what is written reads back bit for bit, and equal plans give equal bytes.
#include "generator/plan_text.h"

#include <gtest/gtest.h>

#include <bit>

#include "runtime/plan/plan_file.h"
#include "tests/support/plans.h"

namespace cerar::test {
namespace {

using runtime::Construction;

void expect_equal(const runtime::ErrorClaim& a, const runtime::ErrorClaim& b) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.condition), std::bit_cast<std::uint64_t>(b.condition));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.noise_gain), std::bit_cast<std::uint64_t>(b.noise_gain));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.approximation), std::bit_cast<std::uint64_t>(b.approximation));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.noise), std::bit_cast<std::uint64_t>(b.noise));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.total), std::bit_cast<std::uint64_t>(b.total));
}

TEST(PlanText, ReadsBackBitForBit) {
  for (const auto& [construction, c] :
       {std::pair{Construction::ring, 4}, std::pair{Construction::ring, 2},
        std::pair{Construction::unimodular, 3}, std::pair{Construction::optimized, 12},
        std::pair{Construction::differential, 32}}) {
    runtime::Plan plan = design_plan(construction, 4, c);
    plan.reason = "quotes \" backslashes \\ colons: tabs \t and # signs";
    plan.baseline_faster = {{0, 1023}, {4096, runtime::ByteRange{}.max_bytes}};
    plan.nvrtc = c == 4 ? "" : "13.0";
    const std::string text = generator::plan_text(plan);
    EXPECT_EQ(text, generator::plan_text(plan));
    const runtime::Plan read = runtime::parse_plan(text, "plan.yaml");
    EXPECT_EQ(read.reason, plan.reason);
    EXPECT_EQ(read.fingerprint, plan.fingerprint);
    EXPECT_EQ(read.nvrtc, plan.nvrtc);
    ASSERT_EQ(read.baseline_faster.size(), 2u);
    EXPECT_EQ(read.baseline_faster[1].max_bytes, runtime::ByteRange{}.max_bytes);
    ASSERT_EQ(read.variants.size(), 1u);
    const auto &a = plan.variants[0], &b = read.variants[0];
    EXPECT_EQ(a.shape, b.shape);
    expect_equal(a.claim, b.claim);
    ASSERT_EQ(a.tables.index(), b.tables.index());
    if (const auto* plain = std::get_if<runtime::PlainTables>(&a.tables)) {
      EXPECT_EQ(plain->beta, std::get<runtime::PlainTables>(b.tables).beta);
      EXPECT_EQ(plain->decode, std::get<runtime::PlainTables>(b.tables).decode);
    } else if (const auto* tables = std::get_if<runtime::DifferentialTables>(&a.tables)) {
      const auto& other = std::get<runtime::DifferentialTables>(b.tables);
      EXPECT_EQ(tables->epsilon, other.epsilon);
      EXPECT_EQ(tables->open, other.open);
      EXPECT_EQ(tables->extend, other.extend);
      EXPECT_EQ(tables->own, other.own);
      EXPECT_EQ(tables->decode, other.decode);
    }
    EXPECT_EQ(generator::plan_text(read), text);
  }
}

}  // namespace
}  // namespace cerar::test
