#pragma once

#include "tuner/search/choose.h"

namespace cerar::tuner {

/// The plan that a selection describes, without kernels: the generator adds those. Claims and tables are the
/// candidates'; predictions stand beside the baseline's.
runtime::Plan build_plan(const std::vector<Candidate>& candidates, const Selection& selection,
                         const Topology& topology, const SearchOptions& options);

}  // namespace cerar::tuner
