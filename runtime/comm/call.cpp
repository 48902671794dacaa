#include "runtime/comm/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {

CallDescription describe(const Call& call, std::uint64_t call_index, const Plan* plan) {
  return describe_call(call_index, call.count, name_of(call.type),
                       call.reduction == Reduction::average ? "average" : "sum", plan ? plan->digest : "");
}

std::string words_of(const Plan* plan) {
  if (!plan) return "no plan";
  if (plan->digest.empty()) return "the exact ring";  // compiled in
  return fmt::format("plan {} ({})", plan->topology, plan->digest.substr(0, 12));
}

std::string with_call(const std::string& sentence, std::uint64_t call_index, const Plan* plan) {
  if (sentence.find("all-reduce number") != std::string::npos) return sentence;
  std::string_view what = sentence;
  const bool advised = what.ends_with(kTimeoutAdvice);
  if (advised) what.remove_suffix(kTimeoutAdvice.size());
  return fmt::format("{}, in all-reduce number {} of {}{}", what.substr(0, what.find_last_not_of('.') + 1),
                     call_index, words_of(plan), advised ? kTimeoutAdvice : ".");
}

const Variant& variant_for(const Plan& plan, std::uint64_t bytes) {
  return *std::find_if(plan.variants.begin(), plan.variants.end() - 1,
                       [&](const Variant& variant) { return bytes <= variant.max_bytes; });
}

CallClaim claim_for(const Variant& variant, const Call& call, bool copied) {
  const double rounding = result_rounding(variant.messages, variant.shape, variant.wire, call.type);
  const ErrorClaim& in_place = variant.claim;
  if (!variant.claim_out_of_place || copied || call.send == call.receive || call.count == 0)
    return {.total = std::hypot(in_place.total, rounding), .noise = in_place.noise};
  const auto row =
      static_cast<std::uint64_t>(variant.shape.components) * static_cast<std::uint64_t>(variant.interleave);
  const double tail = static_cast<double>(call.count % row) / static_cast<double>(call.count);
  const auto both = [&](double ErrorClaim::* figure) {
    return std::hypot(std::sqrt(1 - tail) * (*variant.claim_out_of_place).*figure,
                      std::sqrt(tail) * in_place.*figure);
  };
  return {.total = std::hypot(both(&ErrorClaim::total), rounding), .noise = both(&ErrorClaim::noise)};
}

namespace {

void set_word(char (&word)[CallDescription::kWord], std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), CallDescription::kWord - 1), word);
}

std::string difference(const CallDescription& a, const CallDescription& b) {
  const auto plan = [](const CallDescription& call) { return call.plan[0] ? call.plan : "none (NULL)"; };
  if (std::string_view(a.plan) != b.plan) return fmt::format("plans {} and {}", plan(a), plan(b));
  if (a.call_index != b.call_index) return fmt::format("call indices {} and {}", a.call_index, b.call_index);
  if (a.count != b.count) return fmt::format("counts {} and {}", a.count, b.count);
  if (std::string_view(a.type) != b.type) return fmt::format("data types {} and {}", a.type, b.type);
  if (std::string_view(a.reduction) != b.reduction)
    return fmt::format("operations {} and {}", a.reduction, b.reduction);
  return {};
}

}  // namespace

CallDescription describe_call(std::uint64_t call_index, std::uint64_t count, std::string_view type,
                              std::string_view reduction, std::string_view plan_digest) {
  CallDescription call{.call_index = call_index, .count = count};
  set_word(call.type, type);
  set_word(call.reduction, reduction);
  set_word(call.plan, plan_digest);
  return call;
}

void require_agreement(const std::vector<CallDescription>& calls) {
  for (std::size_t rank = 1; rank < calls.size(); ++rank)
    if (const auto text = difference(calls[0], calls[rank]); !text.empty())
      throw Error(
          ErrorCode::mismatch,
          fmt::format("ranks 0 and {} {} with different {}; all ranks must pass the same.", rank,
                      calls[0].type[0] == 0 ? std::string("make a communicator")
                                            : fmt::format("call all-reduce number {}", calls[0].call_index),
                      text));
}

std::string words_of(const CallDescription& call) {
  if (call.type[0] == 0) return "compare plans";
  return fmt::format("call all-reduce number {} ({} elements of {}, {})", call.call_index, call.count,
                     call.type, call.reduction);
}

std::string not_called(const CallDescription& mine, const std::vector<int>& ranks,
                       std::chrono::milliseconds timeout) {
  const std::string what = mine.type[0] == 0
                               ? "plans were not compared"
                               : fmt::format("all-reduce number {} was not called", mine.call_index);
  return fmt::format("{} within {} ms by rank(s) {}.", what, timeout.count(), fmt::join(ranks, ", "));
}

}  // namespace cerar::runtime
