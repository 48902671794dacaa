// Every single number of the code tables is covered: changed by a few units of its sixth digit, it shows in
// the claim or in the specialised source, or the plan is refused. Nothing else stores the same number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>

#include "generator/specialise/specialise.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_file.h"
#include "tests/reference/damage.h"
#include "tests/support/plans.h"
#include "tuner/check/check_plan.h"
#include "tuner/code/constructions/drifting.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_tables.h"

namespace cerar::test {
namespace {

using runtime::Construction;

using Parameters = std::map<std::string, std::vector<float>>;

/// The tables that the kernels of a variant get.
Parameters parameters_of(const runtime::Variant& variant) {
  Parameters parameters;
  for (const auto& [name, value] : generator::make_kernel_spec(variant).parameters)
    if (const auto* table = std::get_if<generator::FloatTable>(&value)) parameters[name] = table->values;
  return parameters;
}

/// The same, read from the specialised source.
Parameters parameters_in(const std::string& source) {
  Parameters parameters;
  static const std::regex declaration("CERAR_TABLE float (k[A-Za-z]+)\\[[^=]*= ([^;]*);");
  static const std::regex number("-?[0-9][^,}]*f");
  for (std::sregex_iterator at(source.begin(), source.end(), declaration), end; at != end; ++at) {
    const std::string values = (*at)[2];
    for (std::sregex_iterator each(values.begin(), values.end(), number); each != end; ++each)
      parameters[(*at)[1]].push_back(std::strtof(each->str().c_str(), nullptr));
  }
  return parameters;
}

struct Caught {
  int by_load = 0, by_claim = 0, by_source = 0, entries = 0;
};

/// Applies `change` to a copy of the plan and counts who notices.
void count(const runtime::Plan& plan, Caught& caught, const std::string& what,
           const std::function<void(runtime::Variant&)>& change) {
  runtime::Plan altered = plan;
  change(altered.variants[0]);
  ++caught.entries;
  try {
    runtime::check_plan(altered);
  } catch (const Error&) {
    ++caught.by_load;
    return;
  }
  tuner::Findings findings;
  tuner::check_claims(altered, findings);
  const bool claim = !findings.differences.empty();
  const bool source = parameters_of(altered.variants[0]) != parameters_of(plan.variants[0]);
  caught.by_claim += claim;
  caught.by_source += source;
  EXPECT_TRUE(claim || source) << what << " can be changed unnoticed";
}

template <typename Number>
Number changed(Number value) {
  return value == 0 ? Number(1e-6) : static_cast<Number>(value * (1 + 4e-6));
}

/// The plan holds what it claims, and its source holds every number of its tables.
void expect_intact(const runtime::Plan& plan) {
  tuner::Findings findings;
  tuner::check_claims(plan, findings);
  EXPECT_TRUE(findings.differences.empty());
  const auto& variant = plan.variants[0];
  const std::string source = generator::specialise(generator::make_kernel_spec(variant));
  EXPECT_EQ(parameters_in(source), parameters_of(variant));
}

TEST(Coverage, EveryNumberOfADifferentialCode) {
  for (const int components : {8, 12}) {  // r = 2 leaves rows of the tables unused
    const auto plan = design_plan(Construction::differential, 4, components);
    expect_intact(plan);
    for (auto table : {&runtime::DifferentialTables::open, &runtime::DifferentialTables::extend,
                       &runtime::DifferentialTables::own, &runtime::DifferentialTables::decode}) {
      const auto& intact = std::get<runtime::DifferentialTables>(plan.variants[0].tables);
      Caught caught;
      for (std::size_t i = 0; i < (intact.*table).size(); ++i)
        count(plan, caught, std::to_string(i), [&](runtime::Variant& variant) {
          auto& value = (std::get<runtime::DifferentialTables>(variant.tables).*table)[i];
          value = changed(value);
        });
      // Where the plan still loads, the source always shows it: it holds every number.
      EXPECT_EQ(caught.by_source, caught.entries - caught.by_load);
      EXPECT_GT(caught.by_source, 0);
    }
    Caught scalars;
    count(plan, scalars, "epsilon", [](runtime::Variant& variant) {
      auto& epsilon = std::get<runtime::DifferentialTables>(variant.tables).epsilon;
      epsilon = changed(epsilon);
    });
    count(plan, scalars, "shift", [](runtime::Variant& variant) {
      auto& shift = std::get<runtime::DifferentialTables>(variant.tables).shift;
      shift = changed(shift);
    });
    EXPECT_EQ(scalars.by_claim, 1);
    EXPECT_EQ(scalars.by_load, 1) << "shift";
  }
}

TEST(Coverage, EveryNumberOfAPlainCode) {
  const auto plan = design_plan(Construction::optimized, 4, 12);
  expect_intact(plan);
  const auto& intact = std::get<runtime::PlainTables>(plan.variants[0].tables);
  const std::size_t revolution = 4 * 3;
  Caught beta;
  for (std::size_t i = 0; i < intact.beta.size(); ++i)
    count(plan, beta, "beta " + std::to_string(i), [&](runtime::Variant& variant) {
      auto& values = std::get<runtime::PlainTables>(variant.tables).beta;
      // Its own increment becomes another f32, and those after it stay what they were.
      const double before = i < revolution ? 0.0 : values[i - revolution];
      const double step =
          static_cast<double>(changed(static_cast<float>(values[i] - before))) - (values[i] - before);
      for (std::size_t later = i; later < values.size(); later += revolution) values[later] += step;
    });
  EXPECT_GT(beta.by_source, beta.entries / 2) << "most changes should respect the rule of exact increments";
  for (auto table : {&runtime::PlainTables::decode, &runtime::PlainTables::decode_out_of_place,
                     &runtime::PlainTables::own_out_of_place}) {
    Caught caught;
    for (std::size_t i = 0; i < (intact.*table).size(); ++i)
      count(plan, caught, std::to_string(i), [&](runtime::Variant& variant) {
        auto& value = (std::get<runtime::PlainTables>(variant.tables).*table)[i];
        value = changed(value);
      });
    EXPECT_EQ(caught.entries, 4 * 3 * 3);
    EXPECT_EQ(caught.by_source, caught.entries);
  }
}

// The rule that loading asks of beta is the one that the design keeps, with one chain per class and with
// several.
TEST(Coverage, DesignsKeepTheRuleOfExactIncrements) {
  for (const int components : {3, 9, 12, 16, 24})
    for (const double epsilon : {1e-6, 1e-2}) {
      const auto code = tuner::harmonic_code(8, components, epsilon);
      runtime::Variant variant;
      variant.shape = code.shape;
      variant.tables = tuner::plain_design(code, tuner::kNuF32).tables;
      EXPECT_EQ(runtime::table_problem(variant).value_or(""), "") << components << " components";
      std::get<runtime::PlainTables>(variant.tables).beta.front() += 1e-12;
      EXPECT_NE(runtime::table_problem(variant).value_or(""), "") << components << " components";
    }
}

}  // namespace
}  // namespace cerar::test
