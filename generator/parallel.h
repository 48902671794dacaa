#pragma once

#include <cstddef>
#include <functional>

namespace cerar::generator {

/// Runs task(0..count-1) on as many threads as there are cores, or as the system grants: this one alone, if
/// need be. Waits for all; of several exceptions the one of the lowest index is thrown.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace cerar::generator
