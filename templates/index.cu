// Includes every template in a namespace of its own, so that editors and clang-tidy see them all as one file.
namespace cerar_sum {
#include "templates/sum.cu"
}
