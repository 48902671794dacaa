#include "tuner/check/inspected_plan.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/plan/kernel_spec.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/plan_file.h"

namespace cerar::tuner {
namespace {

using runtime::PlanDirectory;

// Damaged texts are searched for what was altered up to this size; of more the digest says enough, and
// reading it would take seconds.
constexpr std::size_t kMostDamagedBytes = std::size_t{1} << 20;

// Without insisting on the digest: what was altered has a name, which the digest does not know.
std::optional<InspectedPlan> inspect(const PlanDirectory& directory, const std::filesystem::path& path,
                                     Findings& findings) {
  const std::string text = directory.text(), file = directory.plan_file().string();
  const auto problem = runtime::digest_problem(text, file);
  if (problem) findings.differences.push_back(*problem);
  if (problem && text.size() > kMostDamagedBytes) return std::nullopt;
  InspectedPlan inspected{.plan = {}, .directory = path, .files = {}};
  try {
    inspected.plan = runtime::parse_plan(text, file, runtime::Digest::ignored);
  } catch (const Error& error) {
    findings.differences.push_back(error.what());
    return std::nullopt;
  }
  for (const auto& variant : inspected.plan.variants)
    for (const auto& artefact : variant.artefacts) {
      const auto& bytes = inspected.files[artefact.file] = directory.bytes(artefact);
      if (!bytes && directory.was_replaced())
        throw Error(ErrorCode::system, file + " is being replaced; check it again when that has ended.");
    }
  return inspected;
}

}  // namespace

std::optional<InspectedPlan> inspect_plan(const std::filesystem::path& path, Findings& findings) {
  return runtime::read_plan_directory(path, [&](const PlanDirectory& directory) {
    Findings found = findings;
    auto inspected = inspect(directory, path, found);
    findings = std::move(found);
    return inspected;
  });
}

const runtime::Artefact* source_of(const runtime::Variant& variant) {
  const auto found = std::find_if(variant.artefacts.begin(), variant.artefacts.end(),
                                  [](const auto& artefact) { return artefact.target == "source"; });
  return found == variant.artefacts.end() ? nullptr : &*found;
}

void check_files(const InspectedPlan& inspected, Findings& findings) {
  std::size_t binaries = 0, absent = 0;
  for (const auto& variant : inspected.plan.variants) {
    if (!source_of(variant)) findings.differ(variant.name, "files lacks the kernel source");
    for (const auto& artefact : variant.artefacts) {
      const bool is_binary = artefact.target != "source";
      const auto& bytes = inspected.files.at(artefact.file);
      binaries += is_binary;
      if (is_binary && !bytes)
        ++absent;
      else if (const auto problem =
                   runtime::artefact_problem(inspected.directory / artefact.file, artefact, bytes))
        findings.differences.push_back(*problem);
      else if (const auto unfit = is_binary ? runtime::mark_problem(variant, *bytes) : std::nullopt)
        findings.differ(variant.name, "{} {}", artefact.file, *unfit);
    }
  }
  if (absent > 0)
    findings.note("{} of {} compiled files are not there, and were not compared", absent, binaries);
}

}  // namespace cerar::tuner
