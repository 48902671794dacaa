#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace cerar::tuner {

/// Name and text of each file in configs/topologies as it was when this library was built, ascending by name.
const std::vector<std::pair<std::string_view, std::string_view>>& builtin_topologies();

}  // namespace cerar::tuner
