// The host build of each role against the formula that it stands for, in double precision.
#include <gtest/gtest.h>

#include <regex>

#include "generator/compile/host_compiler.h"
#include "generator/specialise/specialise.h"
#include "runtime/base/error.h"
#include "tests/unit/generator/host_library.h"
#include "tests/unit/generator/variants.h"

namespace cerar::generator {
namespace {

using test::Element;
using test::expect_matches;
using test::HostLibrary;
using test::random_plain;
using test::random_variant;
using test::Visit;

/// Each combination of a padded row, of place and of a divisor.
template <typename Check>
void for_each_setting(const Check& check) {
  for (const bool has_tail : {false, true})
    for (const bool in_place : {false, true})
      for (const float divisor : {1.0f, 3.0f}) {
        Visit visit;
        visit.has_tail = has_tail;
        visit.in_place = in_place;
        visit.divisor = divisor;
        check(visit);
        if (::testing::Test::HasFatalFailure()) return;
      }
}

TEST(HostKernels, ParameterBlockHasTheSameSize) {
  const HostLibrary library(make_kernel_spec(random_variant("sum", 3, 1)));
  EXPECT_EQ(library.arguments_size(), sizeof(cerar_visit_arguments));
}

TEST(HostKernels, Sum) {
  const HostLibrary library(make_kernel_spec(random_variant("sum", 3, 1)));
  for_each_setting([&](Visit visit) {
    visit.receives = false;
    expect_matches(library, "begin", visit, [](Element& e) { e.message = e.input[0]; });
    visit.receives = true;
    expect_matches(library, "relay", visit, [](Element& e) { e.message = e.input[0] + e.received; });
    for (const bool sends : {false, true}) {
      visit.sends = sends;
      expect_matches(library, "settle", visit,
                     [&](Element& e) { e.slots[0] = e.message = (e.input[0] + e.received) / visit.divisor; });
      expect_matches(library, "keep", visit, [](Element& e) { e.slots[0] = e.message = e.received; });
    }
  });
}

void check_plain(int workers, int components, bool apart = true) {
  const runtime::Shape shape = runtime::make_shape(workers, components);
  const KernelSpec spec = make_kernel_spec(random_plain(workers, components, apart));
  const HostLibrary library(spec);
  const auto& encode = std::get<FloatTable>(spec.parameters.at("kEncode")).values;
  const auto& decode = std::get<FloatTable>(spec.parameters.at("kDecode")).values;
  const auto& decode_out_of_place = std::get<FloatTable>(spec.parameters.at("kDecodeOutOfPlace")).values;
  const auto& own_out_of_place = std::get<FloatTable>(spec.parameters.at("kOwnOutOfPlace")).values;
  const bool own_exact = std::get<bool>(spec.parameters.at("kOwnExact"));
  EXPECT_EQ(own_exact, apart && runtime::can_decode_out_of_place(shape));
  const int terms = shape.terms, chains = shape.chains;
  for_each_setting([&](Visit visit) {
    visit.terms = terms;
    visit.chains = chains;
    for (int phase = 0; phase < workers; ++phase) {
      visit.phase = phase;
      const int first = runtime::first_sample_visit(shape, phase);  // visits before the first sample
      const auto symbol = [&](const Element& e, int number) {
        double sum = 0;
        for (int k = 0; k < terms; ++k)
          sum +=
              encode[static_cast<std::size_t>((phase * (terms + chains) + number) * terms + k)] * e.input[k];
        return sum;
      };
      visit.sends = true;
      visit.sample = -first;
      // Whether the visit can be the first of all is the schedule's business.
      visit.receives = runtime::visit_time(shape, phase, 0) > 1;
      expect_matches(library, "encode", visit, [&](Element& e) {
        e.message = e.received + symbol(e, 0);
        for (int n = 1; n < first; ++n) e.early[chains - 1 - first + n] = symbol(e, n);
        for (int k = 0; k < terms; ++k) e.slots[k] = symbol(e, first + k);
        if (first == 0) e.slots[0] = e.message;
      });
      visit.receives = true;
      for (visit.sample = 1 - first; visit.sample < 0; ++visit.sample)
        expect_matches(library, "relay", visit,
                       [&](Element& e) { e.message = e.early[chains - 1 + visit.sample] + e.received; });
      for (visit.sample = 0; visit.sample < terms - 1; ++visit.sample)
        expect_matches(library, "accumulate", visit,
                       [&](Element& e) { e.message = e.slots[visit.sample] += e.received; });
      visit.sample = terms - 1;
      for (const bool sends : {false, true}) {
        visit.sends = sends;
        expect_matches(library, "decode", visit, [&](Element& e) {
          e.message = e.slots[terms - 1] += e.received;
          std::vector<double> sum(e.slots.size(), 0.0);
          const bool from_input = own_exact && !e.in_place;
          const auto& weights = from_input ? decode_out_of_place : decode;
          for (int s = 0; s < terms; ++s)
            for (int k = 0; k < terms; ++k) {
              const auto at = static_cast<std::size_t>((phase * terms + s) * terms + k);
              sum[k] += weights[at] * (e.slots[s] - (s >= chains ? e.slots[s - chains] : 0.0));
              if (from_input) sum[k] += own_out_of_place[at] * e.input[s];
            }
          for (int k = 0; k < terms; ++k) e.slots[k] = sum[k] / visit.divisor;
        });
      }
    }
  });
}

// One chain per class, coefficients written out; the loop over coefficients.
TEST(HostKernels, PlainOfTwoTerms) { check_plain(3, 6); }
TEST(HostKernels, PlainOfThreeTerms) { check_plain(4, 12); }
TEST(HostKernels, PlainOfFourTerms) { check_plain(2, 8); }
TEST(HostKernels, PlainWithoutADecoderOutOfPlace) { check_plain(4, 12, false); }
TEST(HostKernels, PlainOfElevenTerms) { check_plain(2, 22); }
// Several chains per class, some of them with fewer terms than chains.
TEST(HostKernels, PlainOfTwoChains) { check_plain(4, 6); }
TEST(HostKernels, PlainOfMoreChainsThanTerms) { check_plain(8, 6); }
TEST(HostKernels, DenseWithFewTerms) { check_plain(4, 3); }
TEST(HostKernels, DenseWithManyTerms) { check_plain(4, 13); }
TEST(HostKernels, DenseWithSixtyThreeTerms) { check_plain(2, 63); }

/// As the tuner designs them.
void drop_third_contributions(runtime::DifferentialTables& tables) {
  for (std::size_t i = 2; i < tables.open.size(); i += 3) tables.open[i] = tables.extend[i] = 0;
  tables.own[1] = 0;
}

/// tuner/DESIGN.md, section 6, steps 1 to 4, for one element.
struct DifferentialReference {
  explicit DifferentialReference(const KernelSpec& spec, int terms)
      : terms(terms),
        open(std::get<FloatTable>(spec.parameters.at("kOpen")).values),
        extend(std::get<FloatTable>(spec.parameters.at("kExtend")).values),
        own(std::get<FloatTable>(spec.parameters.at("kOwn")).values),
        decode(std::get<FloatTable>(spec.parameters.at("kDecode")).values),
        inverse_epsilon(std::get<float>(spec.parameters.at("kInverseEpsilon"))),
        own_exact(std::get<bool>(spec.parameters.at("kOwnExact"))) {}

  double combine(const std::vector<float>& weights, int phase, int first, const Element& e) const {
    double sum = 0;
    for (int i = 0; i < 3 && first + i < terms; ++i) sum += weights[phase * 3 + i] * e.input[first + i];
    return sum;
  }

  double correction(int phase, int sample, const Element& e) const {
    double sum = 0;
    if (!own_exact) return sum;
    for (int i = 0; i < 2 && sample + 1 + i < terms; ++i)
      sum += own[phase * 4 + (sample <= terms - 3 ? 0 : 2) + i] * e.input[sample + 1 + i];
    return sum;
  }

  void visit(int phase, int k, double divisor, Element& e) const {
    const bool turns = phase == 0, raises = turns && k > 0;
    double x = e.received + combine(turns && k == 0 ? open : extend, phase, turns ? k : k + 1, e);
    if (raises) x = (x - (e.slots[k - 1] - correction(phase, k - 1, e))) * inverse_epsilon;
    e.message = x;
    x += correction(phase, k, e);
    e.slots[k] = x;
    if (k < terms - 1) return;
    const float* const d = &decode[phase * 9];
    for (int m = 0; m + 2 < terms; ++m)
      e.slots[m] = (d[0] * e.slots[m] + d[1] * e.slots[m + 1] + d[2] * e.slots[m + 2]) / divisor;
    e.slots[k - 1] = (d[3] * e.slots[k - 1] + d[4] * e.slots[k]) / divisor;
    e.slots[k] = d[6] * e.slots[k] / divisor;
  }

  int terms;
  std::vector<float> open, extend, own, decode;
  double inverse_epsilon;
  bool own_exact;
};

void check_differential(int workers, int terms, bool own_exact, int contributions = 3) {
  auto variant = random_variant("differential", workers, terms, own_exact);
  if (contributions == 2) drop_third_contributions(std::get<runtime::DifferentialTables>(variant.tables));
  const KernelSpec spec = make_kernel_spec(variant);
  const HostLibrary library(spec);
  const DifferentialReference reference(spec, terms);
  for_each_setting([&](Visit visit) {
    if (!visit.in_place) return;  // samples overwrite the vector as they come
    visit.terms = terms;
    for (visit.phase = 0; visit.phase < workers; ++visit.phase) {
      visit.sends = true;
      visit.sample = -1;
      for (const bool receives : {false, true}) {
        if (visit.phase == 0) break;  // starts with a sample
        visit.receives = receives;
        expect_matches(library, "open", visit, [&](Element& e) {
          e.message = e.received + reference.combine(reference.open, visit.phase, 0, e);
        });
      }
      visit.receives = true;
      const auto expected = [&](Element& e) { reference.visit(visit.phase, visit.sample, visit.divisor, e); };
      for (visit.sample = 0; visit.sample < terms - 1; ++visit.sample)
        expect_matches(library, "visit", visit, expected);
      for (const bool sends : {false, true}) {
        if (visit.phase == 0 && !sends) continue;  // the last visit of phase 0 is at t = rN < T
        visit.sends = sends;
        expect_matches(library, "close", visit, expected);
      }
    }
  });
}

TEST(HostKernels, DifferentialOfTwoTerms) { check_differential(3, 2, true); }
TEST(HostKernels, DifferentialOfThreeTerms) { check_differential(4, 3, true); }
TEST(HostKernels, DifferentialOfSixTerms) { check_differential(3, 6, true); }
TEST(HostKernels, DifferentialOfFourTerms) { check_differential(3, 4, true); }
TEST(HostKernels, DifferentialOfTwoContributions) {
  for (const int terms : {2, 3, 6}) check_differential(3, terms, true, 2);
}
TEST(HostKernels, DifferentialWithoutOwnExact) { check_differential(3, 5, false); }

/// Assembly of one kernel.
std::string kernel_assembly(const std::string& assembly, const std::string& entry) {
  const std::size_t begin = assembly.find("\n" + entry + ":");
  if (begin == std::string::npos) return "";
  return assembly.substr(begin, assembly.find(".Lfunc_end", begin) - begin);
}

TEST(HostCompiler, LoopsAreVectorised) {
  if (host_target().rfind("x86-64", 0) != 0) GTEST_SKIP() << "looks for x86-64 instructions";
  const std::vector<std::pair<std::string, std::string>> adds = {
      {"relay", "vaddps"},  {"settle", "vaddps"}, {"accumulate", "vaddps"}, {"encode", "vfmadd"},
      {"decode", "vfmadd"}, {"open", "vfmadd"},   {"visit", "vfmadd"},      {"close", "vfmadd"}};
  for (const auto& [family, variant] :
       {std::pair{"sum", random_variant("sum", 8, 1)}, std::pair{"plain", random_plain(8, 24)},
        std::pair{"plain", random_plain(8, 20)}, std::pair{"plain", random_plain(8, 63)},
        std::pair{"differential", random_variant("differential", 8, 8)}}) {
    const KernelSpec spec = make_kernel_spec(variant);
    const std::string assembly = compile_host_assembly(specialise(spec), "x86-64-v3");
    for (const std::string& role : roles(family)) {
      const std::string code = kernel_assembly(assembly, "cerar_" + spec.prefix + "_" + role);
      ASSERT_FALSE(code.empty()) << role;
      EXPECT_TRUE(std::regex_search(code, std::regex("vmov(up|dq|ap).*%ymm"))) << role;
      EXPECT_EQ(code.find("fmaf"), std::string::npos) << role << " calls a library";
      for (const auto& [name, instruction] : adds)
        if (name == role) {
          EXPECT_TRUE(std::regex_search(code, std::regex(instruction + ".*%ymm"))) << role;
        }
    }
  }
}

TEST(HostCompiler, IsReproducibleAndHoldsNoPaths) {
  const std::string source = specialise(make_kernel_spec(random_variant("plain", 4, 2)));
  const std::string first = compile_host(source, host_target());
  EXPECT_EQ(first, compile_host(source, host_target()));
  EXPECT_EQ(first.find("/tmp"), std::string::npos);
  EXPECT_EQ(first.find("cerar-"), std::string::npos) << "name of the temporary directory";
  EXPECT_EQ(first.find("libc.so"), std::string::npos);
}

TEST(HostCompiler, RefusesBadSourceAndForeignTargets) {
  try {
    compile_host("int f() { return missing; }", host_target());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW(compile_host("", "generic-vax"), Error);
}

}  // namespace
}  // namespace cerar::generator
