#include "tuner/check/rebuilt_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "generator/compile/nvrtc_compiler.h"
#include "generator/generate.h"
#include "runtime/base/file.h"
#include "runtime/base/processor.h"
#include "runtime/plan/names.h"

namespace cerar::tuner {

std::set<std::string> architectures_of(const runtime::Plan& plan) {
  std::set<std::string> architectures;
  for (const auto& variant : plan.variants)
    for (const auto& artefact : variant.artefacts)
      if (artefact.target != "source" && artefact.target != "host") architectures.insert(artefact.target);
  return architectures;
}

RebuiltPlan rebuild_plan(const runtime::Plan& plan, const std::filesystem::path& out) {
  RebuiltPlan rebuilt{.plan = plan, .directory = out, .run_bytes = {}};
  std::vector<std::string> architectures;
  for (const auto& architecture : architectures_of(plan))
    if (generator::can_compile_for(architecture)) architectures.push_back(architecture);
  std::uint64_t next = 0;
  for (auto& variant : rebuilt.plan.variants) {
    // Rows enough for the statistics, and a tail that does not divide.
    const std::uint64_t row =
        static_cast<std::uint64_t>(variant.shape.components * variant.interleave) * sizeof(float);
    const std::uint64_t rows = std::max<std::uint64_t>(3, 65536 / row);
    variant.min_bytes = next;
    variant.max_bytes = std::max(next, rows * row) + 3 * sizeof(float);
    next = variant.max_bytes + 1;
    rebuilt.run_bytes.push_back(variant.max_bytes);
    variant.kernels.clear();
    variant.artefacts.clear();
  }
  rebuilt.plan.variants.back().max_bytes = runtime::ByteRange{}.max_bytes;
  // For the plan's own processor, where this one runs it.
  const std::string target = processor_problem(plan.host_target) ? std::string() : plan.host_target;
  generator::generate(rebuilt.plan, {.architectures = architectures, .host_target = target, .out = out});
  return rebuilt;
}

namespace {

// Registers of one compiler release to the next.
constexpr double kRegisterGrowth = 1.10;

void check_source(const InspectedPlan& inspected, const runtime::Variant& variant,
                  const runtime::Variant& rebuilt, const std::filesystem::path& rebuilt_directory,
                  Findings& findings) {
  const auto* mine = source_of(variant);
  if (!mine || !inspected.files.at(mine->file)) return;  // check_files says so
  const std::string& recorded = *inspected.files.at(mine->file);
  const std::string specialised = read_file(rebuilt_directory / source_of(rebuilt)->file);
  if (recorded != specialised)
    findings.differ(variant.name,
                    "{} differs from the source specialised now from the code tables, first in {}",
                    mine->file, first_difference(recorded, specialised));
}

const runtime::Kernel* kernel_of(const runtime::Variant& variant, const std::string& role) {
  const auto found = std::find_if(variant.kernels.begin(), variant.kernels.end(),
                                  [&](const runtime::Kernel& kernel) { return kernel.role == role; });
  return found == variant.kernels.end() ? nullptr : &*found;
}

void check_entries(const runtime::Variant& variant, const runtime::Variant& rebuilt, Findings& findings) {
  for (const auto& kernel : variant.kernels) {
    const auto* now = kernel_of(rebuilt, kernel.role);
    if (!now)
      findings.differ(variant.name, "kernels holds the role {}, which {} messages do not have", kernel.role,
                      runtime::name_of(variant.messages));
    else if (now->entry != kernel.entry)
      findings.differ(variant.name, "the entry of kernel {} is {} in the plan but {} in its source",
                      kernel.role, kernel.entry, now->entry);
  }
}

void check_resources(const runtime::Variant& variant, const runtime::Kernel& kernel, bool same_compiler,
                     Findings& findings) {
  const auto* recorded = kernel_of(variant, kernel.role);
  for (const auto& use : kernel.resources) {
    if (use.spill_bytes > 0)
      findings.differ(variant.name, "kernel {} spills {} bytes on {}", kernel.role, use.spill_bytes,
                      use.target);
    if (!recorded) continue;
    const auto before = std::find_if(recorded->resources.begin(), recorded->resources.end(),
                                     [&](const auto& r) { return r.target == use.target; });
    if (before == recorded->resources.end())
      findings.differ(variant.name, "kernel {} lacks the resources on {}, for which files lists a cubin",
                      kernel.role, use.target);
    else if (same_compiler && use.registers > kRegisterGrowth * before->registers)
      findings.differ(variant.name, "kernel {} takes {} registers on {}, recorded were {}", kernel.role,
                      use.registers, use.target, before->registers);
  }
}

// Another compiler spends registers in its own way.
bool same_compiler(const runtime::Plan& plan) {
  return plan.nvrtc.empty() || plan.nvrtc == generator::nvrtc_version();
}

void note_architectures(const runtime::Plan& plan, Findings& findings) {
  const auto wanted = architectures_of(plan);
  if (wanted.empty()) return;
  if (!generator::nvrtc_available()) {
    findings.note("cubins not compared: this build has no NVRTC to compile for {}", fmt::join(wanted, ", "));
    return;
  }
  for (const auto& architecture : wanted)
    if (!generator::can_compile_for(architecture))
      findings.note("cubins for {} not compared: this build's NVRTC does not know it", architecture);
    else if (generator::is_ptx_target(architecture))
      findings.note("compiled for {}: PTX, which drivers compile", architecture);
    else if (same_compiler(plan))
      findings.note("compiled for {}: registers and spills compared", architecture);
    else
      findings.note(
          "compiled for {}: registers not compared, the plan's are of NVRTC {} and this build has {}",
          architecture, plan.nvrtc, generator::nvrtc_version());
}

}  // namespace

void check_kernels(const InspectedPlan& inspected, const RebuiltPlan& rebuilt, Findings& findings) {
  const runtime::Plan& plan = inspected.plan;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const auto& variant = plan.variants[i];
    const auto& now = rebuilt.plan.variants[i];
    check_source(inspected, variant, now, rebuilt.directory, findings);
    check_entries(variant, now, findings);
    for (const auto& kernel : now.kernels) check_resources(variant, kernel, same_compiler(plan), findings);
  }
  note_architectures(plan, findings);
}

std::string first_difference(const std::string& recorded, const std::string& specialised) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(specialised.begin(), specialised.end(), recorded.begin(), recorded.end()).first -
      specialised.begin());
  const auto found = [](std::size_t place) { return place == std::string::npos ? 0 : place; };
  const auto line =
      1 + std::count(specialised.begin(), specialised.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  // A table's initialiser runs over many lines: look back for its declaration.
  const auto declaration = std::max(found(specialised.rfind("CERAR_PARAMETER ", at)),
                                    found(specialised.rfind("CERAR_TABLE ", at)));
  std::smatch match;
  if (declaration > 0 && specialised.find(';', declaration) >= at) {
    const std::string text =
        specialised.substr(declaration, specialised.find('=', declaration) - declaration);
    static const std::regex name("CERAR_(?:PARAMETER|TABLE) [a-z]+ (k[A-Za-z]+)");
    if (std::regex_search(text, match, name))
      return fmt::format("line {}, in the parameter {}", line, match[1].str());
  }
  // The comment on top lists those that are no tables.
  const auto begin = at == 0 ? 0 : specialised.rfind('\n', at - 1) + 1;
  const std::string text = specialised.substr(begin, specialised.find('\n', at) - begin);
  static const std::regex listed("^//.* (k[A-Z][A-Za-z]*) = ");
  if (std::regex_search(text, match, listed))
    return fmt::format("line {}, in the parameter {}", line, match[1].str());
  return fmt::format("line {}", line);
}

}  // namespace cerar::tuner
