#pragma once

#include <functional>

namespace cerar::generator {

/// Runs `body`, which calls Clang, LLVM or lld on this thread. They print what is fatal to them - a disk or a
/// memory without room, a defect of their own - and end the process; here it is thrown instead: Error
/// `system` with their words, or std::bad_alloc. What `body` itself throws comes through. After a failure
/// that is LLVM's, what `body` had under way is left as it is and never freed: memory that is lost, and
/// nothing that a destructor could trip over.
void contain(const char* who, const std::function<void()>& body);

}  // namespace cerar::generator
