#pragma once

#include "templates/cerar_kernel.h"

/// Messages of 16-bit integers with a scale per block.
CERAR_CONSTEXPR int kLargest = 32767;
using cerar_stored = short;

#include "templates/wire/integers.h"
