#pragma once

#include <filesystem>

#include "runtime/transport/store/store.h"

namespace cerar::runtime {

/// A directory that all ranks see (made where it is missing): one file `cerar-KEY` for each key, written
/// beside it and renamed. Throws `system` naming the path when it cannot be made or written.
std::unique_ptr<Store> make_file_store(const std::filesystem::path& directory);

}  // namespace cerar::runtime
