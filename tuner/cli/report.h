#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tuner/search/choose.h"

namespace cerar::tuner {

/// What `cerar-tune` prints: the table of candidates, the choice for each size, and why. `with_any_wire`:
/// what would be chosen for large vectors if messages could have any type.
std::string tune_report(const std::vector<Candidate>& candidates, const Selection& selection,
                        const runtime::Plan& plan, const Topology& topology, const SearchOptions& options,
                        const std::optional<Candidate>& with_any_wire);

/// The same for programs.
nlohmann::json tune_json(const std::vector<Candidate>& candidates, const runtime::Plan& plan,
                         const Topology& topology, const std::filesystem::path& directory,
                         const std::optional<Candidate>& with_any_wire);

/// The figures of a claim, by name.
nlohmann::json claim_json(const runtime::ErrorClaim& claim);

/// The variants of a plan, for `cerar-tune show`.
std::string plan_report(const runtime::Plan& plan);
nlohmann::json plan_json(const runtime::Plan& plan);

}  // namespace cerar::tuner
