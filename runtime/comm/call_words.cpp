#include "runtime/comm/call_words.h"

#include <fmt/format.h>

#include "runtime/base/environment.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {

CallDescription describe(const Call& call, std::uint64_t operation, const Plan* plan) {
  return describe_call(operation, call.count, name_of(call.type),
                       call.reduction == Reduction::average ? "average" : "sum", plan ? plan->digest : "");
}

std::string words_of(const Plan* plan) {
  if (!plan) return "no plan";
  if (plan->digest.empty()) return "the exact ring";  // compiled in
  return fmt::format("plan {} ({})", plan->topology, plan->digest.substr(0, 12));
}

std::string with_call(const std::string& sentence, std::uint64_t operation, const Plan* plan) {
  if (sentence.find("all-reduce number") != std::string::npos) return sentence;
  std::string_view what = sentence;
  const bool advised = what.ends_with(kTimeoutAdvice);
  if (advised) what.remove_suffix(kTimeoutAdvice.size());
  return fmt::format("{}, in all-reduce number {} of {}{}", what.substr(0, what.find_last_not_of('.') + 1),
                     operation, words_of(plan), advised ? kTimeoutAdvice : ".");
}

}  // namespace cerar::runtime
