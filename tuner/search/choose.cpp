#include "tuner/search/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wire.h"

namespace cerar::tuner {
namespace {

constexpr double kApproximateGain = 0.95;
constexpr double kVariantGain = 0.95;
constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

// Eight sizes per octave from 64 B to 16 TiB: between neighbours an affine cost moves by less than 10 %.
std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> list;
  for (int step = 6 * 8; step <= 44 * 8; ++step)
    list.push_back(static_cast<std::uint64_t>(std::exp2(step / 8.0)) / 64 * 64);
  return list;
}

class Chooser {
 public:
  Chooser(const std::vector<Candidate>& candidates, const CostLine& baseline)
      : candidates_(candidates), baseline_(baseline) {
    only_approximate_ = std::none_of(candidates.begin(), candidates.end(),
                                     [](const Candidate& c) { return c.allowed && c.is_exact(); });
  }

  double time(std::size_t index, double bytes) const { return candidates_[index].cost.at(bytes); }

  std::size_t best(double bytes) const {
    const auto exact = fastest(bytes, true), approximate = fastest(bytes, false);
    if (!exact) return *approximate;
    return approximate && worth_it(*approximate, bytes) ? *approximate : *exact;
  }

  // Whether a code that was right for a neighbouring size may stay.
  bool may_stay(std::size_t index, double bytes) const {
    return time(index, bytes) * kVariantGain <= time(best(bytes), bytes) &&
           (candidates_[index].is_exact() || worth_it(index, bytes));
  }

 private:
  std::optional<std::size_t> fastest(double bytes, bool exact) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].allowed && candidates_[i].is_exact() == exact &&
          (!found || key(i, bytes) < key(*found, bytes)))
        found = i;
    return found;
  }

  // Of equally fast ones the more exact.
  std::pair<double, double> key(std::size_t index, double bytes) const {
    return {time(index, bytes), candidates_[index].counted_error()};
  }

  bool worth_it(std::size_t index, double bytes) const {
    if (only_approximate_) return true;
    const double exact = time(*fastest(bytes, true), bytes);
    return time(index, bytes) <= kApproximateGain * std::min(exact, baseline_.at(bytes));
  }

  const std::vector<Candidate>& candidates_;
  CostLine baseline_;
  bool only_approximate_;
};

std::vector<Choice> choose_variants(const Chooser& chooser) {
  const auto list = sizes();
  std::vector<Choice> choices;
  // From large to small, so that the code for the largest sizes is the best one and not a compromise.
  for (auto size = list.rbegin(); size != list.rend(); ++size) {
    const auto bytes = static_cast<double>(*size);
    const bool stays = !choices.empty() && chooser.may_stay(choices.back().candidate, bytes);
    const std::size_t pick = stays ? choices.back().candidate : chooser.best(bytes);
    if (choices.empty()) {
      choices.push_back({pick, 0, kUnbounded});
    } else if (pick != choices.back().candidate) {
      choices.back().min_bytes = *size + 1;
      choices.push_back({pick, 0, *size});
    }
  }
  std::reverse(choices.begin(), choices.end());
  return choices;
}

std::vector<runtime::ByteRange> baseline_ranges(const std::vector<Choice>& choices, const Chooser& chooser,
                                                const CostLine& baseline) {
  std::vector<runtime::ByteRange> ranges;
  std::uint64_t last = 0;
  bool open = false;
  for (std::uint64_t size : sizes()) {
    const auto choice =
        std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return size <= c.max_bytes; });
    const bool faster =
        baseline.at(static_cast<double>(size)) < chooser.time(choice->candidate, static_cast<double>(size));
    if (faster && !open) ranges.push_back({last == 0 ? 0 : last + 1, kUnbounded});
    if (!faster && open) ranges.back().max_bytes = last;
    open = faster;
    last = size;
  }
  return ranges;
}

std::string describe(const Candidate& candidate) {
  return fmt::format(
      "{} with c = {}{}", runtime::name_of(candidate.construction), candidate.shape.components,
      candidate.wire == runtime::Wire::f32 ? "" : fmt::format(" in {}", runtime::name_of(candidate.wire)));
}

std::string reason_for(const std::vector<Candidate>& candidates, const Selection& selection,
                       const Topology& topology, const SearchOptions& options) {
  if (options.workers == 1) return "one worker has nothing to send: a call copies its vector";
  if (options.workers == 2)
    return "with two workers a ring already sends each element once, which no code can better: the plan is "
           "the exact ring";
  const Candidate& large = candidates[selection.choices.back().candidate];
  const double ratio = large.cost.us_per_mib / baseline_cost(topology, options.workers).us_per_mib;
  if (!large.is_exact())
    return fmt::format(
        "{} is the fastest within an error of {:.3g} for large messages: {:.3f} of the time of the {}",
        describe(large), options.max_error, ratio, baseline_name(topology));
  for (const Choice& choice : selection.choices)
    if (const Candidate& small = candidates[choice.candidate]; !small.is_exact())
      return fmt::format(
          "no code is predicted 5 % faster than the {} for large messages, which are summed exactly; {} is "
          "the "
          "fastest within an error of {:.3g} for some smaller ones",
          baseline_name(topology), describe(small), options.max_error);
  const auto least = [&](auto figure) {
    return std::min_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
      return (a.is_exact() ? 1e300 : figure(a)) < (b.is_exact() ? 1e300 : figure(b));
    });
  };
  const auto best_error = least([](const Candidate& c) { return c.counted_error(); });
  const auto best_condition = least(
      [&](const Candidate& c) { return c.counted_error() <= options.max_error ? c.claim.condition : 1e299; });
  const bool asked = options.construction != runtime::Construction::ring && !options.components;
  if (best_error->is_exact())
    return asked ? fmt::format("no approximate code has a condition of {:.5g} or less: the plan is exact",
                               options.max_condition)
                 : "no approximate code was asked for";
  if (best_condition->claim.condition > options.max_condition &&
      best_condition->counted_error() <= options.max_error)
    return fmt::format("no approximate code keeps a condition of {:.5g} ({} has {:.5g}): the plan is exact",
                       options.max_condition, describe(*best_condition), best_condition->claim.condition);
  if (best_error->counted_error() > options.max_error)
    return fmt::format(
        "no approximate code keeps an error of {:.3g} (the least is {:.3g}, {}): the plan is exact",
        options.max_error, best_error->counted_error(), describe(*best_error));
  return fmt::format(
      "no code is predicted 5 % faster than the {} on these links, at any size: the plan is exact",
      baseline_name(topology));
}

// To `digits` significant ones, so that a limit of the number shown is met.
double rounded_up(double x, int digits) {
  const double unit = std::pow(10, std::floor(std::log10(x)) + 1 - digits);
  return std::ceil(x / unit) * unit;
}

// A construction or a number of components that was asked for by name and cannot keep the limits is an error;
// otherwise exact codes are the answer.
void check_limits(const std::vector<Candidate>& candidates, const SearchOptions& options) {
  const bool named =
      options.components || (options.construction && *options.construction != runtime::Construction::ring);
  const Candidate* nearest = nullptr;
  for (const auto& candidate : candidates) {
    if (candidate.allowed && (!candidate.is_exact() || options.components)) return;
    if (!candidate.allowed && (!nearest || candidate.counted_error() < nearest->counted_error()))
      nearest = &candidate;
  }
  const bool nothing =
      std::none_of(candidates.begin(), candidates.end(), [](const auto& c) { return c.allowed; });
  if (!nearest || !(named || nothing)) return;
  // The limits that it exceeds, and what they would have to be.
  const double error = nearest->counted_error(), condition = nearest->claim.condition;
  std::vector<std::string> limits, needed;
  if (error > options.max_error || condition <= options.max_condition) {
    limits.push_back(fmt::format("--max-error {:.4g}", options.max_error));
    needed.push_back(fmt::format("{:.4g}", rounded_up(error, 4)));
  }
  if (condition > options.max_condition) {
    limits.push_back(fmt::format("--max-condition {:.5g}", options.max_condition));
    needed.push_back(fmt::format("{:.5g}", rounded_up(condition, 5)));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("no requested code meets {}; the closest is {}; raise {} to {}{}.",
                          fmt::join(limits, " and "), describe(*nearest), limits.size() == 1 ? "it" : "them",
                          fmt::join(needed, " and "),
                          nearest->wire == runtime::Wire::f32 ? "" : ", or take another --wire"));
}

}  // namespace

Selection choose(const std::vector<Candidate>& candidates, const Topology& topology,
                 const SearchOptions& options) {
  check_limits(candidates, options);
  const CostLine baseline = baseline_cost(topology, options.workers);
  const Chooser chooser(candidates, baseline);
  Selection selection;
  selection.choices = choose_variants(chooser);
  if (topology.baseline && options.workers > 1)
    selection.baseline_faster = baseline_ranges(selection.choices, chooser, baseline);
  selection.reason = reason_for(candidates, selection, topology, options);
  return selection;
}

namespace {

std::string variant_name(const Candidate& candidate) {
  const auto code =
      fmt::format("{}-c{}", runtime::name_of(candidate.construction), candidate.shape.components);
  return candidate.wire == runtime::Wire::f32 ? code
                                              : fmt::format("{}-{}", code, runtime::name_of(candidate.wire));
}

}  // namespace

runtime::Plan build_plan(const std::vector<Candidate>& candidates, const Selection& selection,
                         const Topology& topology, const SearchOptions& options) {
  runtime::Plan plan;
  plan.generator = "cerar " CERAR_VERSION_TEXT;
  plan.topology = topology.name;
  plan.fingerprint = topology.fingerprint;
  plan.reason = selection.reason;
  plan.workers = options.workers;
  plan.data_type = options.type;
  plan.max_error = options.max_error;
  plan.baseline = baseline_name(topology);
  plan.baseline_faster = selection.baseline_faster;
  const CostLine baseline = baseline_cost(topology, options.workers);
  for (const auto& choice : selection.choices) {
    const Candidate& candidate = candidates[choice.candidate];
    runtime::Variant variant;
    variant.name = variant_name(candidate);
    variant.min_bytes = choice.min_bytes;
    variant.max_bytes = choice.max_bytes;
    variant.construction = candidate.construction;
    variant.messages = candidate.messages;
    variant.shape = candidate.shape;
    variant.wire = candidate.wire;
    variant.block = kBlock;
    variant.lanes = topology.lanes;
    variant.message_bytes = topology.message_bytes;
    variant.claim = candidate.claim;
    variant.claim_out_of_place = candidate.claim_out_of_place;
    variant.tables = candidate.tables;
    variant.growth = runtime::growth_of(variant.shape, variant.tables);
    variant.prediction = {.fixed_us = candidate.cost.fixed_us,
                          .us_per_mib = candidate.cost.us_per_mib,
                          .baseline_fixed_us = baseline.fixed_us,
                          .baseline_us_per_mib = baseline.us_per_mib};
    plan.variants.push_back(std::move(variant));
  }
  runtime::check_plan(plan);
  return plan;
}

}  // namespace cerar::tuner
