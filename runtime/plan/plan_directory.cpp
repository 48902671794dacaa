#include "runtime/plan/plan_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/plan/kernel_spec.h"
#include "runtime/plan/plan_file.h"

namespace cerar::runtime {
namespace {

// The tables of the largest codes stand in them as well.
constexpr std::uint64_t kMostArtefactBytes = kMostPlanBytes;

// Replacing takes longer than reading, so that more than one in a row is rare; where the path is changed in
// two steps it is away for microseconds.
constexpr int kMostReplaced = 100, kMostMissing = 3;
constexpr std::chrono::milliseconds kAway{5};

}  // namespace

PlanDirectory::PlanDirectory(const std::filesystem::path& path)
    // O_PATH: a directory that may not be listed can hold files that may be read.
    : path_(path), directory_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (directory_.is_open()) return;
  if (errno == ENOENT || errno == ENOTDIR)
    throw Error(
        ErrorCode::invalid_plan,
        fmt::format("{} does not exist; give a plan directory made by cerar-tune.", plan_file().string()));
  throw Error(ErrorCode::system,
              fmt::format("the plan directory {} cannot be opened: {}; give one that can be read.",
                          path_.string(), std::strerror(errno)));
}

std::filesystem::path PlanDirectory::plan_file() const { return path_ / kPlanFileName; }

std::string PlanDirectory::text() const {
  auto text = read_file_below(directory_, kPlanFileName, plan_file(), kMostPlanBytes);
  if (!text)
    throw Error(
        ErrorCode::invalid_plan,
        fmt::format("{} does not exist; give a plan directory made by cerar-tune.", plan_file().string()));
  return *std::move(text);
}

std::optional<std::string> PlanDirectory::bytes(const Artefact& artefact) const {
  return read_file_below(directory_, artefact.file, path_of(artefact), kMostArtefactBytes);
}

bool PlanDirectory::was_replaced() const {
  struct stat now{}, then{};
  return ::stat(path_.c_str(), &now) != 0 || ::fstat(directory_.number(), &then) != 0 ||
         now.st_dev != then.st_dev || now.st_ino != then.st_ino;
}

bool ReadingAgain::is_worth_it(const std::optional<PlanDirectory>& directory) {
  if (directory) return directory->was_replaced() && replaced++ < kMostReplaced;
  if (missing++ >= kMostMissing) return false;
  std::this_thread::sleep_for(kAway);
  return true;
}

LoadedPlan load_plan_directory(const std::filesystem::path& path) {
  return read_plan_directory(path, [&](const PlanDirectory& directory) {
    LoadedPlan loaded{.plan = nullptr, .directory = path, .files = {}};
    auto plan = std::make_shared<const Plan>(parse_plan(directory.text(), directory.plan_file().string()));
    for (const auto& variant : plan->variants)
      for (const auto& artefact : variant.artefacts) {
        auto bytes = directory.bytes(artefact);
        if (const auto problem = artefact_problem(directory.path_of(artefact), artefact, bytes))
          throw Error(ErrorCode::invalid_plan, *problem);
        if (artefact.target == "source") continue;
        if (const auto problem = mark_problem(variant, *bytes))
          throw Error(ErrorCode::invalid_plan,
                      fmt::format("variant {}: {} {}; run cerar-tune again.", variant.name,
                                  directory.path_of(artefact).string(), *problem));
        loaded.files[artefact.file] = *std::move(bytes);
      }
    loaded.plan = std::move(plan);
    return loaded;
  });
}

std::optional<std::string> artefact_problem(const std::filesystem::path& path, const Artefact& artefact,
                                            const std::optional<std::string>& bytes) {
  if (!bytes)
    return fmt::format("{} is missing from the plan; run cerar-tune again to build it.", path.string());
  if (sha256_hex(*bytes) != artefact.sha256)
    return fmt::format(
        "{} does not match its SHA-256 in plan.yaml, it was altered or truncated; run cerar-tune again.",
        path.string());
  return std::nullopt;
}

}  // namespace cerar::runtime
