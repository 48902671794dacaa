#pragma once

#include "templates/elements.h"

/// Messages of bf16: the upper half of an f32, rounded to nearest, ties to even.
CERAR_DEVICE unsigned short cerar_narrow(float value) { return cerar_to_bf16(value); }

CERAR_DEVICE float cerar_widen(unsigned short half) { return cerar_from_bf16(half); }

CERAR_CONSTEXPR float kDitherSpan = 0x1p-5f;

#include "templates/wire/halves.h"
