#pragma once

#include <memory>

/// Stands in for a header of Gloo's that Debian's package leaves out, though others there include it. These
/// types are members of Gloo's pairs, which guarded_context.cpp derives from; it needs their sizes alone.
namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> pointer_;
};

template <typename T>
class ShareableNonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

}  // namespace gloo
