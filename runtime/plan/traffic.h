#pragma once

#include "runtime/plan/step.h"

namespace cerar::runtime {

/// Lines of the vector (and samples and early symbols, which take the place of some) that the kernel of a
/// step loads and stores, together, for each line of its message; the message itself is left out. As the
/// templates do it for calls in place: for differential codes with two contributions, as they are designed. A
/// test counts what kernels access.
int vector_lines(const Step& step, const Shape& shape);

}  // namespace cerar::runtime
