#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/host/transport.h"

namespace cerar::runtime {
namespace {

void set_word(char (&word)[CallDescription::kWord], std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), CallDescription::kWord - 1), word);
}

std::string difference(const CallDescription& a, const CallDescription& b) {
  const auto plan = [](const CallDescription& call) { return call.plan[0] ? call.plan : "none (NULL)"; };
  if (std::string_view(a.plan) != b.plan) return fmt::format("plans {} and {}", plan(a), plan(b));
  if (a.operation != b.operation) return fmt::format("operation numbers {} and {}", a.operation, b.operation);
  if (a.count != b.count) return fmt::format("counts {} and {}", a.count, b.count);
  if (std::string_view(a.type) != b.type) return fmt::format("data types {} and {}", a.type, b.type);
  if (std::string_view(a.reduction) != b.reduction)
    return fmt::format("operations {} and {}", a.reduction, b.reduction);
  return {};
}

}  // namespace

CallDescription describe_call(std::uint64_t operation, std::uint64_t count, std::string_view type,
                              std::string_view reduction, std::string_view plan_digest) {
  CallDescription call{.operation = operation, .count = count};
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
                                            : fmt::format("call all-reduce number {}", calls[0].operation),
                      text));
}

std::string words_of(const CallDescription& call) {
  if (call.type[0] == 0) return "compare plans";
  return fmt::format("call all-reduce number {} ({} elements of {}, {})", call.operation, call.count,
                     call.type, call.reduction);
}

std::string not_called(const CallDescription& mine, const std::vector<int>& ranks,
                       std::chrono::milliseconds timeout) {
  const std::string what = mine.type[0] == 0
                               ? "plans were not compared"
                               : fmt::format("all-reduce number {} was not called", mine.operation);
  return fmt::format("{} within {} ms by rank(s) {}.", what, timeout.count(), fmt::join(ranks, ", "));
}

}  // namespace cerar::runtime
