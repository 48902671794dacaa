// gpu-check-kernels PLAN...: every kernel of every variant, message by message, against the host build of the
// same plan and against sums in double.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runtime/plan/plan_directory.h"
#include "runtime/plan/wire.h"
#include "tests/gpu/check_kernels/conversions.h"
#include "tests/gpu/check_kernels/ring_run.h"
#include "tests/gpu/support/driver_extras.h"
#include "tests/gpu/support/program.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr std::uint64_t kMeasured = 20000;  // elements; in shorter vectors an rms says little

std::vector<RunCase> cases_of(const Variant& variant) {
  const std::uint64_t row =
      static_cast<std::uint64_t>(variant.shape.components) * static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t rows = std::max<std::uint64_t>(3, kMeasured / row + 1);
  // Blocks are converted by whole warps with packs of four: single elements do not exist.
  const int single = is_block_wire(variant.wire) ? 4 : 1;
  return {
      {"whole rows, in place, sum, few blocks", rows, 0, true, false, 4, 3},
      {"tail, out of place, average, few blocks", rows, row / 2 + 1, false, true, 4, 3},
      {"tail, in place, average, single elements", rows, row - 1, true, true, single, 3},
      {"only a tail, out of place, sum", 0, row / 3 + 1, false, false, 4, 0},
      {"one row and a tail of one, in place, sum, single elements", 1, 1, true, false, single, 0},
      {"tail, out of place, sum, all blocks", rows, 5, false, false, 4, 0},
  };
}

struct Totals {
  std::uint64_t launches = 0, words = 0, different = 0, runs = 0, variants = 0, conversions = 0;
};

// Between half of the claim and all of it, with room for chance.
void judge(const Variant& variant, const RunCase& run, const RunResult& result, const std::string& what,
           Report& report) {
  if (result.different)
    report.fail(fmt::format("{}: {} of {} words differ from the host build, first: {}", what,
                            result.different, result.words, result.first_difference));
  if (is_exact(variant)) {
    if (result.not_exact) report.fail(fmt::format("{}: {} sums are not exact", what, result.not_exact));
    return;
  }
  const double ratio = result.error / variant.claim.total;
  const bool measured = run.rows > 1;
  if (!(ratio < (measured ? 1.2 : 3.0)) || (measured && ratio < 0.5))
    report.fail(fmt::format("{}: error {:.3g} is {:.2f} times the claim {:.3g}", what, result.error, ratio,
                            variant.claim.total));
}

void check_plan_directory(const std::string& directory, Totals& totals, Report& report) {
  use_plan(directory);
  const auto loaded = std::make_shared<const LoadedPlan>(load_plan_directory(directory));
  const auto device = std::make_shared<const Device>(0);
  const OnDevice current(*device);
  const DeviceStream stream(device);
  DeviceKernels kernels(device, loaded);
  const HostKernels host(*loaded);
  for (const Variant& variant : loaded->plan->variants) {
    const DeviceKernelTable& table = kernels.of(variant);
    double worst = 0;
    std::uint64_t different = 0;
    const auto cases = cases_of(variant);
    for (const RunCase& run : cases) {
      const RunResult result = run_ring(device, stream.get(), variant, table, host.of(variant), run);
      judge(variant, run, result, fmt::format("{}, {} ({})", directory, variant.name, run.name), report);
      totals.launches += result.launches;
      totals.words += result.words;
      different += result.different;
      if (run.rows > 1) worst = std::max(worst, result.error);
    }
    totals.different += different;
    totals.runs += cases.size();
    ++totals.variants;
    totals.conversions += check_conversions(device, stream.get(), table, variant.name, report);
    std::printf("%s %s: %zu runs, %llu words differ, error %.3g, claim %.3g\n", directory.c_str(),
                variant.name.c_str(), cases.size(), static_cast<unsigned long long>(different), worst,
                variant.claim.total);
  }
}

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  return run_program([&](Report& report) {
    Totals totals;
    for (const auto& directory : Arguments(argc, argv).rest({})) {
      try {
        check_plan_directory(directory, totals, report);
      } catch (const std::exception& error) {
        report.fail(directory + ": " + error.what());
      }
    }
    if (!totals.runs) report.fail("no kernel was run; name plan directories");
    return fmt::format("{} variants, {} runs, {} launches: {} of {} words differ from the host's",
                       totals.variants, totals.runs, totals.launches, totals.different, totals.words);
  });
}
