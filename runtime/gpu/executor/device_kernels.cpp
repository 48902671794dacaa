#include "runtime/gpu/executor/device_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <set>
#include <string_view>

#include "runtime/base/debug_log.h"
#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

// Blocks in a grid, as a multiple of those that a whole device holds. With one wave each block would do an
// equal share, and those that find no place beside NCCL's kernels or another lane's would double the time.
constexpr long long kWaves = 4;

constexpr std::string_view kCubin = "sm_", kPtx = "compute_";

// "sm_80" as 80 for the prefix "sm_", 0 for anything else.
int number_of(std::string_view target, std::string_view prefix) {
  int number = 0;
  if (!target.starts_with(prefix)) return 0;
  target.remove_prefix(prefix.size());
  const char* const end = std::to_address(target.end());
  const auto [stop, error] = std::from_chars(std::to_address(target.begin()), end, number);
  return stop == end && error == std::errc() ? number : 0;
}

std::vector<std::string> targets_of(const Variant& variant) {
  std::vector<std::string> targets;
  for (const auto& artefact : variant.artefacts)
    if (number_of(artefact.target, kCubin) || number_of(artefact.target, kPtx))
      targets.push_back(artefact.target);
  return targets;
}

}  // namespace

std::string best_target(const std::vector<std::string>& targets, const std::string& architecture) {
  const int wanted = number_of(architecture, kCubin);
  int cubin = 0, ptx = 0;
  for (const auto& target : targets) {
    const int number = number_of(target, kCubin), portable = number_of(target, kPtx);
    if (number / 10 == wanted / 10 && number <= wanted) cubin = std::max(cubin, number);
    if (portable <= wanted) ptx = std::max(ptx, portable);
  }
  return cubin ? fmt::format("{}{}", kCubin, cubin) : ptx ? fmt::format("{}{}", kPtx, ptx) : "";
}

void DeviceKernel::launch_block(const void* arguments, long long packs, CuStream stream) const {
  const long long wanted = (packs + threads - 1) / threads;
  const auto blocks = static_cast<unsigned>(std::clamp<long long>(wanted, 1, kWaves * resident_blocks));
  void* parameters[] = {const_cast<void*>(arguments)};
  check(driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr),
        "launching a kernel");
}

DeviceKernels::DeviceKernels(DeviceHandle device, std::shared_ptr<const LoadedPlan> plan)
    : device_(std::move(device)), plan_(std::move(plan)) {
  for (const auto& variant : plan_->plan->variants) {
    const auto targets = targets_of(variant);
    if (!best_target(targets, device_->architecture()).empty()) continue;
    const std::set<std::string, std::greater<>> sorted(targets.begin(), targets.end());  // cubins first
    throw Error(
        ErrorCode::unsupported,
        fmt::format("variant {} has kernels for {}, but device {} ({}) is {}; run cerar-tune with "
                    "--arch {}.",
                    variant.name, sorted.empty() ? "no GPU" : fmt::format("{}", fmt::join(sorted, ", ")),
                    device_->ordinal(), device_->name(), device_->architecture(), device_->architecture()));
  }
}

const DeviceKernelTable& DeviceKernels::of(const Variant& variant) {
  if (const auto found = tables_.find(variant.name); found != tables_.end()) return found->second;
  const std::string target = best_target(targets_of(variant), device_->architecture());
  const auto artefact = std::find_if(variant.artefacts.begin(), variant.artefacts.end(),
                                     [&](const Artefact& a) { return a.target == target; });
  if (number_of(target, kPtx))
    debug_log("variant {} has no cubin for device {} ({}): the driver compiles its PTX, {}", variant.name,
              device_->ordinal(), device_->architecture(), target);
  DeviceModule module(device_, plan_->bytes_of(*artefact), plan_->name_of(*artefact));
  const OnDevice current(*device_);
  DeviceKernelTable table{};
  for (const auto& kernel : variant.kernels) {
    for (std::size_t role = 0; role < kRoles; ++role) {
      if (name_of(static_cast<Role>(role)) != kernel.role) continue;
      DeviceKernel& entry = table[role];
      entry.function = module.function(kernel.entry);
      entry.threads = static_cast<unsigned>(kernel.threads);
      int blocks = 0;
      check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry.function, kernel.threads, 0),
            "asking for the occupancy of {}", kernel.entry);
      if (blocks < 1)
        throw Error(ErrorCode::invalid_plan,
                    fmt::format("kernel {} does not fit device {} with blocks of {} threads; run cerar-tune "
                                "again.",
                                kernel.entry, device_->ordinal(), kernel.threads));
      entry.resident_blocks = static_cast<long long>(blocks) * device_->multiprocessors();
    }
  }
  modules_.push_back(std::move(module));
  return tables_.emplace(variant.name, table).first->second;
}

}  // namespace cerar::runtime
