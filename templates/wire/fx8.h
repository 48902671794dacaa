#pragma once

#include "templates/cerar_kernel.h"

/// Messages of 8-bit integers with a scale per block.
CERAR_CONSTEXPR int kLargest = 127;
using cerar_stored = signed char;

#include "templates/wire/integers.h"
