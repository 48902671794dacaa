#include "templates/visit_arguments.h"

// Kernels of the stand-ins' own tests, built as a plan's host library is.
#define KERNEL extern "C" __attribute__((visibility("default"))) void

extern "C" {
extern const unsigned cerar_visit_arguments_size __attribute__((visibility("default")));
const unsigned cerar_visit_arguments_size = sizeof(cerar_visit_arguments);
}

/// slots = input * divisor.
KERNEL software_scale(cerar_visit_arguments arguments) {
  for (long long i = 0; i < arguments.elements; ++i)
    arguments.slots[i] = arguments.input[i] * arguments.divisor;
}

/// One element more than it should.
KERNEL software_overrun(cerar_visit_arguments arguments) {
  for (long long i = 0; i <= arguments.elements; ++i) arguments.slots[i] = arguments.divisor;
}
