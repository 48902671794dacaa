#pragma once

#include <filesystem>

#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {

/// A directory that all ranks see, made where it is missing.
std::unique_ptr<Store> make_file_store(const std::filesystem::path& directory, int rank, int ranks);

}  // namespace cerar::runtime
