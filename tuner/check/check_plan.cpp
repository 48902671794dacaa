#include "tuner/check/check_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/bench/measure.h"
#include "runtime/plan/plan_file.h"
#include "tuner/code/differential/differential.h"
#include "tuner/code/plain/plain_tables.h"
#include "tuner/code/wire_noise.h"
#include "tuner/cost/cost_model.h"

namespace cerar::tuner {
namespace {

using runtime::Plan;
using runtime::Variant;

// Claims come from the same formulas on the same tables; only the mathematical library of another machine may
// differ.
constexpr double kFigureTolerance = 1e-9;
// Registers of one compiler release to the next.
constexpr double kRegisterGrowth = 1.10;
// Measured error against the claim for independent gradients.
constexpr double kLeastOfClaim = 0.5, kMostOfClaim = 1.2;

class Checker {
 public:
  Checker(const std::filesystem::path& directory, const std::function<void(const std::string&)>& progress)
      : directory_(directory),
        progress_(progress),
        plan_(runtime::load_plan(directory, runtime::Artefacts::source_only)) {}

  CheckResult run() {
    for (const auto& variant : plan_.variants) check_claim(variant);
    check_predictions();
    progress_("compiling the kernels again");
    const TemporaryDirectory scratch;
    Plan rebuilt = rebuild(scratch.path() / "plan");
    for (std::size_t i = 0; i < plan_.variants.size(); ++i)
      check_kernels(plan_.variants[i], rebuilt.variants[i], scratch.path() / "plan");
    if (plan_.workers > 1) check_errors(rebuilt, scratch.path() / "plan");
    return std::move(result_);
  }

 private:
  template <typename... Arguments>
  void differ(const Variant& variant, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    result_.differences.push_back(
        fmt::format("{}: {}", variant.name, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

  void compare(const Variant& variant, const char* key, double claimed, double recomputed) {
    if (std::abs(claimed - recomputed) > kFigureTolerance * std::max(std::abs(claimed), std::abs(recomputed)))
      differ(variant, "{} is {} in the plan but {} when recomputed", key, claimed, recomputed);
  }

  void check_claim(const Variant& variant) {
    runtime::ErrorClaim claim;
    if (const auto* plain = std::get_if<runtime::PlainTables>(&variant.tables))
      claim = claim_of(variant.shape, *plain, kNuF32);
    else if (const auto* differential = std::get_if<runtime::DifferentialTables>(&variant.tables))
      claim = claim_of(variant.shape, *differential, kNuF32);
    compare(variant, "errors.condition", variant.claim.condition, claim.condition);
    compare(variant, "errors.noise_gain", variant.claim.noise_gain, claim.noise_gain);
    compare(variant, "errors.approximation", variant.claim.approximation, claim.approximation);
    compare(variant, "errors.approximation_worst", variant.claim.approximation_worst,
            claim.approximation_worst);
    compare(variant, "errors.noise", variant.claim.noise, claim.noise);
    compare(variant, "errors.total", variant.claim.total, claim.total);
    if (claim.total > plan_.max_error && !std::holds_alternative<runtime::SumTables>(variant.tables))
      differ(variant, "an error of {:.3g} exceeds the plan's max_error of {:.3g}", claim.total,
             plan_.max_error);
  }

  // Only against the very topology that the plan was made for.
  void check_predictions() {
    const auto names = topology_names();
    if (std::find(names.begin(), names.end(), plan_.topology) == names.end()) return;
    const Topology topology = load_topology(plan_.topology);
    if (topology.fingerprint != plan_.fingerprint) {
      result_.facts.push_back(
          fmt::format("predictions not compared: topology {} has changed since", plan_.topology));
      return;
    }
    const CostLine baseline = baseline_cost(topology, plan_.workers);
    for (const auto& variant : plan_.variants) {
      const CostLine cost = cost_of(topology, variant.shape, variant.messages);
      compare(variant, "predicted.fixed_us", variant.prediction.fixed_us, cost.fixed_us);
      compare(variant, "predicted.us_per_mib", variant.prediction.us_per_mib, cost.us_per_mib);
      compare(variant, "predicted.ring_fixed_us", variant.prediction.ring_fixed_us, baseline.fixed_us);
      compare(variant, "predicted.ring_us_per_mib", variant.prediction.ring_us_per_mib, baseline.us_per_mib);
    }
  }

  // The plan again, for the architectures that this build can compile. Each variant gets a narrow range of
  // small sizes, so that all of them can be run here.
  Plan rebuild(const std::filesystem::path& out) {
    Plan plan = plan_;
    std::set<std::string> architectures;
    const auto supported = generator::supported_architectures();
    for (const auto& variant : plan.variants)
      for (const auto& artefact : variant.artefacts)
        if (std::find(supported.begin(), supported.end(), artefact.target) != supported.end())
          architectures.insert(artefact.target);
    std::uint64_t next = 0;
    for (auto& variant : plan.variants) {
      // Rows enough for the statistics, and a tail that does not divide.
      const std::uint64_t row =
          static_cast<std::uint64_t>(variant.shape.components * variant.interleave) * sizeof(float);
      const std::uint64_t rows = std::max<std::uint64_t>(3, 65536 / row);
      variant.min_bytes = next;
      variant.max_bytes = std::max(next, rows * row) + 3 * sizeof(float);
      next = variant.max_bytes + 1;
      variant.kernels.clear();
      variant.artefacts.clear();
    }
    sizes_.clear();
    for (auto& variant : plan.variants) sizes_.push_back(variant.max_bytes);
    plan.variants.back().max_bytes = runtime::ByteRange{}.max_bytes;
    generator::generate(plan, {.architectures = {architectures.begin(), architectures.end()}, .out = out});
    return plan;
  }

  void check_kernels(const Variant& variant, const Variant& rebuilt,
                     const std::filesystem::path& rebuilt_directory) {
    const auto source = [](const Variant& v) {
      const auto found = std::find_if(v.artefacts.begin(), v.artefacts.end(),
                                      [](const auto& a) { return a.target == "source"; });
      return found == v.artefacts.end() ? std::string() : found->file;
    };
    if (source(variant).empty()) {
      differ(variant, "files lacks the kernel source");
      return;
    }
    const std::string mine = read_file(directory_ / source(variant)),
                      fresh = read_file(rebuilt_directory / source(rebuilt));
    if (mine != fresh) {
      const auto at = std::mismatch(mine.begin(), mine.end(), fresh.begin(), fresh.end()).first;
      differ(variant, "{} differs from the source specialised now, first in line {}", source(variant),
             1 + std::count(mine.begin(), at, '\n'));
    }
    for (const auto& kernel : rebuilt.kernels)
      for (const auto& use : kernel.resources) check_resources(variant, kernel, use);
  }

  void check_resources(const Variant& variant, const runtime::Kernel& kernel,
                       const runtime::KernelResources& use) {
    if (use.spill_bytes > 0)
      differ(variant, "kernel {} spills {} bytes on {}", kernel.role, use.spill_bytes, use.target);
    for (const auto& recorded : variant.kernels)
      for (const auto& before : recorded.resources)
        if (recorded.role == kernel.role && before.target == use.target &&
            use.registers > kRegisterGrowth * before.registers)
          differ(variant, "kernel {} takes {} registers on {}, recorded were {}", kernel.role, use.registers,
                 use.target, before.registers);
  }

  void check_errors(const Plan& rebuilt, const std::filesystem::path& directory) {
    const runtime::LocalRanks ranks(directory.string(), plan_.workers);
    for (std::size_t i = 0; i < rebuilt.variants.size(); ++i) {
      const Variant& variant = rebuilt.variants[i];
      progress_(fmt::format("running {}", variant.name));
      const bool exact = variant.messages == runtime::Messages::sum;
      const auto errors =
          runtime::measure_errors(ranks, {.count = static_cast<std::size_t>(sizes_[i] / sizeof(float)),
                                          .input = exact ? runtime::Input::integers : runtime::Input::normal,
                                          .in_place = true});
      if (exact) {
        if (errors.not_equal > 0)
          differ(variant, "{} elements of an exact sum of integers are wrong", errors.not_equal);
        result_.facts.push_back(
            fmt::format("{}: exact on {} integers", variant.name, sizes_[i] / sizeof(float)));
        continue;
      }
      const double share = errors.relative_rms / variant.claim.total;
      if (!(share >= kLeastOfClaim && share <= kMostOfClaim))
        differ(variant, "the measured error is {:.3g}, {:.2f} of the {:.3g} claimed", errors.relative_rms,
               share, variant.claim.total);
      result_.facts.push_back(fmt::format("{}: measured error {:.3g}, {:.2f} of the claim", variant.name,
                                          errors.relative_rms, share));
    }
  }

  std::filesystem::path directory_;
  const std::function<void(const std::string&)>& progress_;
  Plan plan_;
  std::vector<std::uint64_t> sizes_;  // bytes to run each variant with
  CheckResult result_;
};

}  // namespace

CheckResult check_plan(const std::filesystem::path& directory,
                       const std::function<void(const std::string&)>& progress) {
  return Checker(directory, progress).run();
}

}  // namespace cerar::tuner
