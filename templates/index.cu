// Includes every template in a namespace of its own, so that editors and clang-tidy see them all as one file.
#include "templates/wire/f32.h"

namespace cerar_sum {
#include "templates/sum.cu"
}
namespace cerar_plain {
#include "templates/plain.cu"
}
namespace cerar_differential {
#include "templates/differential.cu"
}
