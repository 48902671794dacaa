#pragma once

#include "templates/cerar_kernel.h"

/// Messages of f32: element `at` of a part of a message is element `at` of its memory.
CERAR_DEVICE long long cerar_part_bytes(long long elements) { return elements * 4; }

CERAR_DEVICE float cerar_as_sent(float value, const cerar_rounding&) { return value; }

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* part, long long at, long long, const cerar_rounding&) {
  return cerar_load<W>(static_cast<const float*>(part) + at);
}

template <int W>
CERAR_DEVICE cerar_pack<W> cerar_settle(void* part, long long at, long long, const cerar_rounding&,
                                        const cerar_pack<W>& value) {
  cerar_store<W>(static_cast<float*>(part) + at, value);
  return value;
}

template <int W>
CERAR_DEVICE void cerar_pass(const void* from, void* to, long long at, long long) {
  cerar_store<W>(static_cast<float*>(to) + at, cerar_load<W>(static_cast<const float*>(from) + at));
}

#include "templates/run.h"
