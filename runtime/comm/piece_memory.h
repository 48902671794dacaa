#pragma once

#include <cstdint>

#include "runtime/comm/piece.h"
#include "runtime/plan/step.h"
#include "templates/visit_arguments.h"

namespace cerar::runtime {

/// What the kernels of one piece work in; addresses of the host's or of a device.
struct PieceMemory {
  const float* input = nullptr;   ///< the piece of the vector
  float* slots = nullptr;         ///< of the result; may equal `input`
  float* padded = nullptr;        ///< [classes][terms][line], the padded row; used where the piece has a tail
  float* early = nullptr;         ///< early_elements() of plain messages
  void* message = nullptr;        ///< received, combined in place and sent
  DataType type = DataType::f32;  ///< of the caller's vector, which results are rounded to
};

/// Elements of `early` for one class of a piece of `rows` rows, and the padded one; 0 where there is none.
std::uint64_t early_class_elements(const Variant& variant, std::uint64_t rows, bool padded);

/// Parameters of the kernel that does `step`, for accesses of single elements. `divisor`: N for an average, 1
/// for a sum. `early_class`: early_class_elements of the largest piece that works in this memory.
cerar_visit_arguments arguments_of(const Variant& variant, const Piece& piece, const PieceMemory& memory,
                                   const Step& step, float divisor, std::uint64_t early_class);

}  // namespace cerar::runtime
