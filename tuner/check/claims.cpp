#include "tuner/check/claims.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/elements.h"
#include "runtime/plan/wire.h"
#include "tuner/code/constructions/ring.h"
#include "tuner/code/constructions/unimodular.h"
#include "tuner/code/differential/differential.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/code/wire_noise.h"
#include "tuner/cost/cost_model.h"

namespace cerar::tuner {
namespace {

// Claims come from the same formulas on the same tables; only the mathematical library of another machine may
// differ.
constexpr double kFigureTolerance = 1e-9;

class Comparison {
 public:
  Comparison(const runtime::Variant& variant, const char* source, Findings& findings)
      : variant_(variant), source_(source), findings_(findings) {}

  void figure(const char* key, double recorded, double recomputed) const {
    if (std::abs(recorded - recomputed) >
        kFigureTolerance * std::max(std::abs(recorded), std::abs(recomputed)))
      findings_.differ(variant_.name, "{} is {} in the plan but {} when recomputed from {}", key, recorded,
                       recomputed, source_);
  }

  template <typename Number>
  void setting(const char* key, Number recorded, Number given) const {
    if (recorded != given)
      findings_.differ(variant_.name, "{} is {} in the plan but {} in {}", key, recorded, given, source_);
  }

 private:
  const runtime::Variant& variant_;
  const char* source_;
  Findings& findings_;
};

void compare_claims(const Comparison& compare, const std::string& key, const runtime::ErrorClaim& recorded,
                    const runtime::ErrorClaim& recomputed) {
  const auto figure = [&](const char* name, double runtime::ErrorClaim::* member) {
    compare.figure((key + "." + name).c_str(), recorded.*member, recomputed.*member);
  };
  figure("condition", &runtime::ErrorClaim::condition);
  figure("noise_gain", &runtime::ErrorClaim::noise_gain);
  figure("approximation", &runtime::ErrorClaim::approximation);
  figure("approximation_worst", &runtime::ErrorClaim::approximation_worst);
  figure("noise", &runtime::ErrorClaim::noise);
  figure("total", &runtime::ErrorClaim::total);
}

}  // namespace

void check_claims(const runtime::Plan& plan, Findings& findings) {
  for (const auto& variant : plan.variants) {
    runtime::ErrorClaim claim;
    std::optional<runtime::ErrorClaim> apart;
    const double nu = nu_of(variant.wire, variant.block);
    if (const auto* plain = std::get_if<runtime::PlainTables>(&variant.tables)) {
      claim = variant.construction == runtime::Construction::unimodular
                  ? unimodular_claim(variant.shape, *plain, variant.wire, variant.block)
                  : claim_of(variant.shape, *plain, nu);
      apart = apart_claim_of(variant.shape, *plain, nu);
    } else if (const auto* differential = std::get_if<runtime::DifferentialTables>(&variant.tables)) {
      claim = claim_of(variant.shape, *differential, nu);
    } else if (!is_exact(variant)) {
      claim = sum_claim(variant.shape, nu);
    }
    const Comparison compare(variant, "the code tables", findings);
    compare_claims(compare, "errors", variant.claim, claim);
    if (apart) compare_claims(compare, "errors_out_of_place", *variant.claim_out_of_place, *apart);
    const double error = std::hypot(
        claim.total, runtime::result_rounding(variant.messages, variant.shape, variant.wire, plan.data_type));
    if (error > plan.max_error && !is_exact(variant))
      findings.differ(variant.name, "an error of {:.3g} exceeds the plan's max_error of {:.3g}", error,
                      plan.max_error);
  }
}

void check_predictions(const runtime::Plan& plan, Findings& findings) {
  const auto names = topology_names();
  if (std::find(names.begin(), names.end(), plan.topology) == names.end()) {
    findings.note("predictions not compared: topology {} is not one of those built in", plan.topology);
    return;
  }
  const Topology topology = load_topology(plan.topology);
  if (topology.fingerprint != plan.fingerprint) {
    findings.note("predictions not compared: topology {} has changed since", plan.topology);
    return;
  }
  const CostLine baseline = baseline_cost(topology, plan.workers);
  for (const auto& variant : plan.variants) {
    const CostLine cost = cost_of(topology, variant.shape, variant.messages,
                                  {.vector = static_cast<double>(runtime::size_of(plan.data_type)),
                                   .message = runtime::bytes_per_element(variant.wire, variant.block)});
    const Comparison compare(variant, "the topology", findings);
    compare.setting("lanes", variant.lanes, topology.lanes);
    compare.setting("message_bytes", variant.message_bytes, topology.message_bytes);
    compare.figure("predicted.fixed_us", variant.prediction.fixed_us, cost.fixed_us);
    compare.figure("predicted.us_per_mib", variant.prediction.us_per_mib, cost.us_per_mib);
    compare.figure("predicted.baseline_fixed_us", variant.prediction.baseline_fixed_us, baseline.fixed_us);
    compare.figure("predicted.baseline_us_per_mib", variant.prediction.baseline_us_per_mib,
                   baseline.us_per_mib);
  }
}

}  // namespace cerar::tuner
