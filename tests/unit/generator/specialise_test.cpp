#include "generator/specialise/specialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <limits>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/kernel_spec.h"
#include "tests/unit/generator/variants.h"

namespace cerar::generator {
namespace {

using test::random_variant;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string specialise_variant(const runtime::Variant& variant) {
  return specialise(make_kernel_spec(variant));
}

std::string body_of(const std::string& source) {
  return source.substr(source.find('\n', source.find(kSpecialisedMarker)));
}

/// The message of the error that specialise() throws.
std::string refusal(const KernelSpec& spec) {
  try {
    specialise(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_plan);
    return error.what();
  }
  return "(accepted)";
}

/// Multiplications and fused multiply-adds in C++ text: every '*' that does not declare a pointer, and every
/// call whose name holds "fma".
int count_products(const std::string& text) {
  int products = 0;
  std::string previous;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = text.find('\n', i);
    } else if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text[i] == '"') {
      i = text.find('"', i + 1) + 1;
    } else if (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_') {
      previous.clear();
      while (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_') previous += text[i++];
      products += previous.find("fma") != std::string::npos;
    } else {
      if (text[i] == '*') products += previous != "float" && previous != "void" && previous != "const";
      previous = text[i++];
    }
  }
  return products;
}

TEST(Specialise, RolesAreThoseOfTheTemplate) {
  EXPECT_THAT(roles("sum"), ElementsAre("begin", "relay", "settle", "keep", "widen", "narrow"));
  EXPECT_THAT(roles("plain"), ElementsAre("encode", "relay", "accumulate", "decode", "widen", "narrow"));
  EXPECT_THAT(roles("differential"), ElementsAre("open", "visit", "close", "widen", "narrow"));
  EXPECT_THROW(roles("index"), Error);
  EXPECT_THROW(roles("../sum"), Error);
}

TEST(Specialise, ValuesAppearAsHexFloats) {
  runtime::Variant variant = random_variant("differential", 3, 4);
  auto& tables = std::get<runtime::DifferentialTables>(variant.tables);
  tables.open[4] = 0.1f;
  const std::string source = specialise_variant(variant);
  EXPECT_THAT(source, HasSubstr("0x1.99999ap-4f"));
  EXPECT_THAT(source, HasSubstr("int kTerms = 4;"));
  EXPECT_THAT(source, HasSubstr("float kInverseEpsilon = 0x1p+4f;"));
  EXPECT_THAT(source, HasSubstr("bool kOwnExact = true;"));
  EXPECT_THAT(source, HasSubstr("CERAR_KERNEL cerar_differential_3x4_open(cerar_visit_arguments a)"));
  EXPECT_THAT(source, HasSubstr("cerar_differential_3x4_visit("));
  EXPECT_THAT(source, HasSubstr("cerar_differential_3x4_close("));
  EXPECT_THAT(source, HasSubstr("// ---- specialised from templates/differential.cu\n"));
}

TEST(Specialise, SourceIsSelfContained) {
  for (const char* family : {"sum", "plain", "differential"}) {
    const std::string source = specialise_variant(random_variant(family, 4, family[0] == 's' ? 1 : 3));
    EXPECT_THAT(source, Not(HasSubstr("#include")));
    EXPECT_THAT(source, Not(HasSubstr("#pragma once")));
    EXPECT_EQ(source.find("struct cerar_visit_arguments {"), source.rfind("struct cerar_visit_arguments {"));
  }
}

TEST(Specialise, DecidedBranchesAreGone) {
  const std::string with_two = body_of(specialise_variant(random_variant("differential", 4, 2, false)));
  const std::string with_four = body_of(specialise_variant(random_variant("differential", 4, 4, true)));
  for (const std::string& body : {with_two, with_four}) {
    EXPECT_THAT(body, Not(HasSubstr("if (kOwnExact)")));
    EXPECT_THAT(body, Not(HasSubstr("if (kTerms > 2)")));
    EXPECT_THAT(body, HasSubstr("if constexpr (Lines > 2)")) << "depends on a template parameter and stays";
    EXPECT_THAT(body, HasSubstr("if (a.phase != 0)")) << "depends on an argument and stays";
  }
  EXPECT_THAT(with_two, Not(HasSubstr("g2 = cerar_load")));
  EXPECT_THAT(with_two, Not(HasSubstr("cerar_fma(own1")));
  EXPECT_THAT(with_four, HasSubstr("g2 = cerar_load"));
  EXPECT_THAT(with_four, HasSubstr("cerar_fma(own1"));
}

TEST(Specialise, SumsHoldNoMultiplication) {
  EXPECT_EQ(count_products(body_of(specialise_variant(random_variant("sum", 8, 1)))), 0);
  EXPECT_GT(count_products(body_of(specialise_variant(random_variant("plain", 8, 2)))), 0);
}

TEST(Specialise, IsReproducible) {
  const KernelSpec spec = make_kernel_spec(random_variant("plain", 4, 3));
  EXPECT_EQ(specialise(spec), specialise(spec));
  KernelSpec other = spec;
  std::get<FloatTable>(other.parameters["kDecode"]).values[5] += 1.0f;
  EXPECT_NE(specialise(spec), specialise(other));
}

TEST(Specialise, RefusesWrongParameters) {
  const KernelSpec spec = make_kernel_spec(random_variant("plain", 4, 3));
  KernelSpec wrong = spec;
  wrong.parameters["kSpeed"] = 3;
  EXPECT_THAT(refusal(wrong), HasSubstr("kSpeed is unknown"));
  wrong = spec;
  wrong.parameters.erase("kDecode");
  EXPECT_THAT(refusal(wrong), HasSubstr("kDecode of template plain is not set"));
  wrong = spec;
  wrong.parameters["kTerms"] = 3.0f;
  EXPECT_THAT(refusal(wrong), HasSubstr("kTerms of template plain is a int, not a float"));
  wrong = spec;
  wrong.parameters["kDecode"] = FloatTable{{4, 3, 2}, std::vector<float>(24)};
  EXPECT_THAT(refusal(wrong), HasSubstr("kDecode of template plain is float[4][3][3], not float[4][3][2]"));
  wrong = spec;
  std::get<FloatTable>(wrong.parameters["kDecode"]).values[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(wrong), HasSubstr("kDecode is nan"));
  wrong = spec;
  wrong.family = "cubic";
  EXPECT_THAT(refusal(wrong), HasSubstr("no kernel template called cubic"));
}

TEST(Specialise, StaticAssertionsOfTheTemplateAreErrors) {
  KernelSpec spec = make_kernel_spec(random_variant("sum", 4, 1));
  spec.parameters["kInterleave"] = 24;
  EXPECT_THAT(refusal(spec), HasSubstr("interleave must be a power of two from 4"));
}

TEST(KernelSpec, EncodesIncrementsOfBeta) {
  const runtime::Variant variant = random_variant("plain", 3, 2);
  const auto& beta = std::get<runtime::PlainTables>(variant.tables).beta;
  const KernelSpec spec = make_kernel_spec(variant);
  const auto& encode = std::get<FloatTable>(spec.parameters.at("kEncode"));
  ASSERT_THAT(encode.dimensions, ElementsAre(3, 3, 2));
  const auto at = [&](int phase, int visit, int k) { return encode.values[(phase * 3 + visit) * 2 + k]; };
  // Phase 1 visits at t = 1, 4, 7; phase 0 at t = 3, 6 and then no more.
  EXPECT_EQ(at(1, 0, 1), static_cast<float>(beta[0 * 2 + 1]));
  EXPECT_EQ(at(1, 2, 0), static_cast<float>(beta[6 * 2] - beta[3 * 2]));
  EXPECT_EQ(at(0, 1, 1), static_cast<float>(beta[5 * 2 + 1] - beta[2 * 2 + 1]));
  EXPECT_EQ(at(0, 2, 0), 0.0f);
  EXPECT_EQ(at(0, 2, 1), 0.0f);
}

// Whatever another kernel spec comes from gives another mark; what kernels do not depend on gives none.
TEST(KernelMark, TellsKernelsApart) {
  const runtime::Variant plain = random_variant("plain", 4, 3), sum = random_variant("sum", 4, 1),
                         differential = random_variant("differential", 4, 3);
  std::set<std::string> marks;
  const auto add = [&](runtime::Variant variant, const std::function<void(runtime::Variant&)>& change) {
    change(variant);
    EXPECT_TRUE(marks.insert(runtime::kernel_mark(variant)).second) << "after " << marks.size() << " marks";
  };
  const auto add_all = [&](const runtime::Variant& variant) {
    add(variant, [](runtime::Variant&) {});
    add(variant, [](runtime::Variant& v) { v.interleave *= 2; });
    add(variant, [](runtime::Variant& v) { v.wire = runtime::Wire::bf16; });
    add(variant, [](runtime::Variant& v) { v.wire = runtime::Wire::fx16; });
    add(variant, [](runtime::Variant& v) { v.wire = runtime::Wire::fx16, v.block = 64; });
    add(variant, [](runtime::Variant& v) { v.kernels = {{.role = "a", .entry = "b"}}; });
    add(variant, [](runtime::Variant& v) { v.kernels = {{.role = "b", .entry = "a"}}; });
  };
  for (const auto& variant : {plain, sum, differential}) add_all(variant);
  add(sum, [](runtime::Variant& v) { v.shape = runtime::make_shape(4, 2); });
  add(sum, [](runtime::Variant& v) { v.shape = runtime::make_shape(5, 5); });
  using Plain = runtime::PlainTables;
  add(plain, [](runtime::Variant& v) { std::get<Plain>(v.tables).beta[0] += 1; });
  add(plain, [](runtime::Variant& v) { std::get<Plain>(v.tables).decode[0] += 1; });
  add(plain, [](runtime::Variant& v) { std::get<Plain>(v.tables).decode_out_of_place[0] += 1; });
  add(plain, [](runtime::Variant& v) { std::get<Plain>(v.tables).own_out_of_place[0] += 1; });
  add(plain, [](runtime::Variant& v) {
    std::get<Plain>(v.tables).decode_out_of_place.clear();
    std::get<Plain>(v.tables).own_out_of_place.clear();
  });
  using Differential = runtime::DifferentialTables;
  add(differential, [](runtime::Variant& v) { std::get<Differential>(v.tables).epsilon *= 2; });
  add(differential, [](runtime::Variant& v) { std::get<Differential>(v.tables).own_exact ^= true; });
  for (auto table : {&Differential::open, &Differential::extend, &Differential::own, &Differential::decode})
    add(differential, [&](runtime::Variant& v) { (std::get<Differential>(v.tables).*table)[5] += 1; });

  runtime::Variant same = differential;
  same.min_bytes = 1, same.lanes = 9, same.message_bytes = 77, same.claim.total = 3;
  EXPECT_EQ(runtime::kernel_mark(same), runtime::kernel_mark(differential));
}

TEST(KernelMark, IsFoundInWhatItStandsIn) {
  const runtime::Variant variant = random_variant("sum", 4, 1), other = random_variant("sum", 5, 1);
  const std::string bytes =
      "\x7f"
      "ELF" +
      runtime::kernel_mark(variant) + '\0';
  EXPECT_EQ(runtime::mark_problem(variant, bytes), std::nullopt);
  EXPECT_THAT(runtime::mark_problem(other, bytes).value_or(""), HasSubstr("another code"));
  EXPECT_THAT(runtime::mark_problem(variant, "ELF").value_or(""), HasSubstr("does not say"));
}

TEST(KernelSpec, RefusesWhatNoKernelServes) {
  runtime::Variant variant = random_variant("plain", 8, 2);
  variant.shape = runtime::make_shape(8, 12);
  EXPECT_THROW(make_kernel_spec(variant), Error);
  variant = random_variant("differential", 4, 3);
  std::get<runtime::DifferentialTables>(variant.tables).own.pop_back();
  EXPECT_THROW(make_kernel_spec(variant), Error);
  variant = random_variant("sum", 4, 1);
  variant.name = "ring/f32 v1.0";
  EXPECT_EQ(make_kernel_spec(variant).prefix, "ring_f32_v1_0");
}

}  // namespace
}  // namespace cerar::generator
