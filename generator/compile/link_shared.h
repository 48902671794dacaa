#pragma once

#include <string>

namespace cerar::generator {

/// Links one relocatable ELF object to a shared object with lld, in process, in a private temporary directory
/// that is gone afterwards. Undefined symbols stay for dlopen to find. Calls from several threads take turns.
/// Throws `system` with lld's words, naming the directory.
std::string link_shared(const std::string& object);

}  // namespace cerar::generator
