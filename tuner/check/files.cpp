#include "tuner/check/files.h"

#include <algorithm>

#include "runtime/plan/plan_file.h"

namespace cerar::tuner {

const runtime::Artefact* source_of(const runtime::Variant& variant) {
  const auto found = std::find_if(variant.artefacts.begin(), variant.artefacts.end(),
                                  [](const auto& artefact) { return artefact.target == "source"; });
  return found == variant.artefacts.end() ? nullptr : &*found;
}

void check_files(const runtime::Plan& plan, const std::filesystem::path& directory, Findings& findings) {
  std::size_t binaries = 0, absent = 0;
  for (const auto& variant : plan.variants) {
    if (!source_of(variant)) findings.differ(variant.name, "files lacks the kernel source");
    for (const auto& artefact : variant.artefacts) {
      const bool is_binary = artefact.target != "source";
      binaries += is_binary;
      if (is_binary && !std::filesystem::exists(directory / artefact.file))
        ++absent;
      else if (const auto problem = runtime::artefact_problem(directory, artefact))
        findings.differences.push_back(*problem);
    }
  }
  if (absent > 0)
    findings.note("{} of {} compiled files are not there, and were not compared", absent, binaries);
}

}  // namespace cerar::tuner
