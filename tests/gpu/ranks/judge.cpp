#include <fmt/format.h>

#include <cmath>
#include <span>

#include "runtime/measure/measure.h"
#include "tests/gpu/ranks/rank.h"

namespace cerar::test {
namespace {

constexpr std::size_t kMeasured = 20000;  // elements; in shorter vectors an rms says little
constexpr double kExactClaim = 1e-6;      // what claims of sums in f32 stay below

}  // namespace

std::string name_of(const CallCase& call, cerarDataType_t type) {
  return fmt::format("{} elements of {}, {}, {}", call.count, runtime::name_of(type),
                     call.in_place ? "in place" : "out of place", call.op == cerarSum ? "sum" : "average");
}

std::optional<std::string> judge(const std::vector<std::byte>& bytes, const RankInputs& inputs,
                                 const CallCase& call, double factor, const cerarCallInfo_t& info) {
  const auto result = runtime::unpacked(inputs.type(), bytes);
  std::vector<double> exact(inputs.sums().begin(),
                            inputs.sums().begin() + static_cast<std::ptrdiff_t>(call.count));
  if (call.op == cerarAverage) factor /= inputs.ranks();
  for (double& x : exact) x *= factor;
  // Of all elements: the rms of a few says little, and messages are scaled for their neighbours as well.
  const double rms = std::abs(factor) * std::sqrt(runtime::sum_of_squares(inputs.sums()) /
                                                  static_cast<double>(inputs.sums().size()));
  const double expected = std::hypot(info.claimed_error, runtime::half_ulp(inputs.type()));
  const double limit = runtime::wrong_limit(rms * rms, 1, expected, inputs.ranks());
  const auto sums = runtime::compare(result, exact, limit);
  if (sums.wrong)
    return fmt::format("{} of {} elements are off by more than {:.3g}", sums.wrong, call.count, limit);
  const bool exact_promised = info.components <= inputs.ranks() && info.claimed_error < kExactClaim;
  if (exact_promised && inputs.kind() == runtime::Input::integers && inputs.type() == cerarFloat32 &&
      sums.not_equal)
    return fmt::format("{} of {} sums are not exact", sums.not_equal, call.count);
  if (call.count < kMeasured || exact_promised) return std::nullopt;
  const double error = std::sqrt(sums.square / runtime::sum_of_squares(exact));
  if (!(error <= 1.2 * expected) || (inputs.type() == cerarFloat32 && error < 0.5 * info.claimed_error))
    return fmt::format("the error {:.3g} is not between half of the claim {:.3g} and all of it", error,
                       expected);
  return std::nullopt;
}

}  // namespace cerar::test
