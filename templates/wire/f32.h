#pragma once

#include "templates/cerar_kernel.h"

/// Messages of f32: element `index` of the message is element `index` of the buffer.
template <int W>
CERAR_DEVICE cerar_pack<W> cerar_receive(const void* message, long long index) {
  return cerar_load<W>(static_cast<const float*>(message) + index);
}

template <int W>
CERAR_DEVICE void cerar_send(void* message, long long index, const cerar_pack<W>& value) {
  cerar_store<W>(static_cast<float*>(message) + index, value);
}
