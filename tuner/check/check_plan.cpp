#include "tuner/check/check_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/processor.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/wire.h"
#include "tuner/check/inspected_plan.h"
#include "tuner/check/rebuilt_plan.h"
#include "tuner/code/constructions/exact.h"
#include "tuner/code/differential/differential.h"
#include "tuner/code/plain/error_model.h"
#include "tuner/code/plain/plain_tables.h"
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
    std::optional<runtime::ErrorClaim> out_of_place;
    const double nu = nu_of(variant.wire, variant.block);
    if (const auto* plain = std::get_if<runtime::PlainTables>(&variant.tables)) {
      claim = variant.construction == runtime::Construction::unimodular
                  ? unimodular_claim(variant.shape, *plain, variant.wire, variant.block)
                  : claim_of(variant.shape, *plain, nu);
      out_of_place = out_of_place_claim_of(variant.shape, *plain, nu);
    } else if (const auto* differential = std::get_if<runtime::DifferentialTables>(&variant.tables)) {
      claim = claim_of(variant.shape, *differential, nu);
    } else if (!is_exact(variant)) {
      claim = sum_claim(variant.shape, nu);
    }
    const Comparison compare(variant, "the code tables", findings);
    compare_claims(compare, "errors", variant.claim, claim);
    if (out_of_place)
      compare_claims(compare, "errors_out_of_place", *variant.claim_out_of_place, *out_of_place);
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

namespace {

// Measured error against the claim for independent gradients.
constexpr double kLeastOfClaim = 0.5, kMostOfClaim = 1.2;

void check_exact(const runtime::LocalRanks& ranks, const runtime::Variant& variant, std::size_t count,
                 Findings& findings) {
  const auto errors =
      runtime::measure_errors(ranks, {.count = count, .input = runtime::Input::integers, .in_place = true});
  if (errors.not_equal > 0)
    findings.differ(variant.name, "{} elements of an exact sum of integers are wrong", errors.not_equal);
  else
    findings.note("{}: exact on {} integers", variant.name, count);
}

void check_error(const runtime::LocalRanks& ranks, const runtime::Variant& variant, std::size_t count,
                 bool in_place, Findings& findings) {
  const auto errors =
      runtime::measure_errors(ranks, {.count = count, .input = runtime::Input::normal, .in_place = in_place});
  const double claim = in_place ? variant.claim.total : variant.claim_out_of_place->total;
  const double share = errors.relative_rms / claim;
  const char* const place = in_place ? "" : " out of place";
  if (!(share >= kLeastOfClaim && share <= kMostOfClaim))
    findings.differ(variant.name, "the measured error{} is {:.3g}, {:.2f} of the {:.3g} claimed", place,
                    errors.relative_rms, share, claim);
  findings.note("{}: measured error{} {:.3g}, {:.2f} of the claim", variant.name, place, errors.relative_rms,
                share);
}

/// Runs each variant between threads of this process: exact sums on whole numbers, coded ones on independent
/// normal vectors, in place and, where there is a claim for that, out of place. There the measured error must
/// be between half of the claim and 1.2 times the claim.
void check_runs(const RebuiltPlan& rebuilt, const std::function<void(const std::string&)>& progress,
                Findings& findings) {
  if (rebuilt.plan.workers == 1) return;  // a copy
  const runtime::LocalRanks ranks(rebuilt.directory.string(), rebuilt.plan.workers);
  for (std::size_t i = 0; i < rebuilt.plan.variants.size(); ++i) {
    const runtime::Variant& variant = rebuilt.plan.variants[i];
    progress(fmt::format("running {}", variant.name));
    const auto count = static_cast<std::size_t>(rebuilt.run_bytes[i] / sizeof(float));
    if (is_exact(variant)) {
      check_exact(ranks, variant, count, findings);
      continue;
    }
    check_error(ranks, variant, count, true, findings);
    if (variant.claim_out_of_place) check_error(ranks, variant, count, false, findings);
  }
}

}  // namespace

Findings check_plan(const std::filesystem::path& directory,
                    const std::function<void(const std::string&)>& progress) {
  Findings findings;
  const auto inspected = inspect_plan(directory, findings);
  if (!inspected) return findings;
  const runtime::Plan& plan = inspected->plan;
  // What one step cannot do is a difference of its own: the others still have something to say.
  const auto attempt = [&findings](const char* what, const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      findings.differences.push_back(fmt::format("{}: {}", what, error.what()));
      return false;
    }
    return true;
  };
  check_files(*inspected, findings);
  attempt("claims cannot be recomputed", [&] { check_claims(plan, findings); });
  attempt("predictions cannot be recomputed", [&] { check_predictions(plan, findings); });
  progress("compiling the kernels again");
  const TemporaryDirectory scratch;
  RebuiltPlan rebuilt;
  if (!attempt("kernels cannot be built again",
               [&] { rebuilt = rebuild_plan(plan, scratch.path() / "plan"); }))
    return findings;
  check_kernels(*inspected, rebuilt, findings);
  if (rebuilt.plan.host_target != plan.host_target)
    findings.note("host kernels {}; they are run as {} has them",
                  processor_problem(plan.host_target).value_or("are not in the plan"),
                  rebuilt.plan.host_target);
  attempt("kernels cannot be run", [&] { check_runs(rebuilt, progress, findings); });
  return findings;
}

}  // namespace cerar::tuner
