#include "tests/unit/generator/variants.h"

#include <cstddef>
#include <random>
#include <vector>

namespace cerar::test {

namespace {

class Filler {
 public:
  void operator()(auto& values, int count) {
    values.resize(static_cast<std::size_t>(count));
    for (auto& value : values) value = uniform_(engine_);
  }

 private:
  std::mt19937 engine_{7};
  std::uniform_real_distribution<float> uniform_{-2.0f, 2.0f};
};

void add_out_of_place(runtime::Variant& variant, runtime::PlainTables& tables, Filler& fill) {
  if (!runtime::can_decode_out_of_place(variant.shape)) return;
  variant.claim_out_of_place.emplace();
  fill(tables.decode_out_of_place, static_cast<int>(tables.decode.size()));
  fill(tables.own_out_of_place, static_cast<int>(tables.decode.size()));
}

}  // namespace

runtime::Variant random_plain(int workers, int components, bool apart) {
  runtime::Variant variant;
  variant.shape = runtime::make_shape(workers, components);
  variant.name = "plain-" + std::to_string(workers) + "-" + std::to_string(components);
  variant.messages = runtime::Messages::plain;
  variant.construction = runtime::Construction::harmonic;
  runtime::PlainTables tables;
  Filler fill;
  fill(tables.beta, variant.shape.chains * variant.shape.visits * variant.shape.terms);
  fill(tables.decode, workers * variant.shape.terms * variant.shape.terms);
  if (apart) add_out_of_place(variant, tables, fill);
  variant.tables = tables;
  return variant;
}

runtime::Variant random_variant(const std::string& family, int workers, int terms, bool own_exact) {
  Filler fill;
  runtime::Variant variant;
  variant.shape = runtime::make_shape(workers, workers * terms);
  variant.name = family + "-" + std::to_string(workers) + "x" + std::to_string(terms);
  if (family == "plain") {
    runtime::PlainTables tables;
    fill(tables.beta, variant.shape.visits * terms);
    fill(tables.decode, workers * terms * terms);
    add_out_of_place(variant, tables, fill);
    variant.messages = runtime::Messages::plain;
    variant.construction = runtime::Construction::harmonic;
    variant.tables = tables;
  } else if (family == "differential") {
    runtime::DifferentialTables tables;
    tables.epsilon = 0.0625f;
    tables.own_exact = own_exact;
    fill(tables.open, workers * 3);
    fill(tables.extend, workers * 3);
    fill(tables.own, workers * 4);
    fill(tables.decode, workers * 9);
    variant.messages = runtime::Messages::differential;
    variant.construction = runtime::Construction::differential;
    variant.tables = tables;
  }
  return variant;
}

runtime::Plan random_plan(int workers) {
  runtime::Plan plan;
  plan.generator = "cerar test";
  plan.topology = "test";
  plan.workers = workers;
  plan.variants = {random_variant("sum", workers, 1), random_variant("plain", workers, 2),
                   random_variant("differential", workers, 3)};
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    plan.variants[i].min_bytes = i << 20;
    if (i + 1 < plan.variants.size()) plan.variants[i].max_bytes = ((i + 1) << 20) - 1;
  }
  return plan;
}

}  // namespace cerar::test
