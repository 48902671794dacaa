#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/search/candidates.h"

namespace cerar::tuner {

/// A candidate and the sizes it is for, both ends inclusive.
struct Choice {
  std::size_t candidate = 0;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
};

struct Selection {
  std::vector<Choice> choices;  ///< ascending, joined, the last one unbounded
  /// Sizes at which the topology's own all-reduce is predicted to be faster than the choice.
  std::vector<runtime::ByteRange> baseline_faster;
  std::string reason;  ///< one sentence
};

/// For each size the fastest candidate that is allowed. An approximate code must be predicted at least 5 %
/// faster than every exact one and than the baseline: an error is not worth less. A variant that gains under
/// 5 % over its neighbour is left out, so that plans stay small. Throws `invalid_argument` when a
/// construction or a c that was asked for by name cannot keep the limits.
Selection choose(const std::vector<Candidate>& candidates, const Topology& topology,
                 const SearchOptions& options);

/// The plan that a selection describes, without kernels: the generator adds those. Claims and tables are the
/// candidates'; predictions stand beside the baseline's.
runtime::Plan build_plan(const std::vector<Candidate>& candidates, const Selection& selection,
                         const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
