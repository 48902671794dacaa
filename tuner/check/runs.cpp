#include "tuner/check/runs.h"

#include <fmt/format.h>

#include "runtime/measure/measure.h"

namespace cerar::tuner {
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

}  // namespace

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

}  // namespace cerar::tuner
