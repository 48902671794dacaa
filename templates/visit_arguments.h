#pragma once

/// How the elements of a message are scaled and rounded.
struct cerar_rounding {
  float gain,
      inverse;  ///< powers of two that elements of bf16 and f16 are multiplied by, and again when received
  unsigned dither;  ///< odd: makes the fractions of wire/dither.h; 0: rounded to nearest
};

/// The one parameter of every kernel that does a visit, passed by value; plain data with the same layout on
/// every side.
///
/// A rank's share of one class is a number of rows; a row is `terms` lines of G elements; line k of row w
/// starts at element (w * terms + k) * G. The message of the class has one line of G elements per row,
/// `elements` in all, followed by one more line when `tail` is set: the class's last row, padded with zeros,
/// lives in scratch of its own so that a count that does not divide never needs a copy of the vector. How
/// messages are stored is the wire's matter, see wire/ and runtime/plan/wire.h.
struct cerar_visit_arguments {
  const float* input;  ///< the rank's vector; equals `slots` in place, and may not overlap it otherwise
  float* slots;        ///< samples and results
  float* tail;         ///< input and slots of the padded row, or null
  float* early;        ///< [rows, padded one last][chains - 1][G] symbols that leave before the first sample;
                       ///< null where a class has one chain
  const void* received;  ///< message of the previous rank, or null at visit 1
  void* message;         ///< outgoing message, or null at the last visit; may equal `received`
  long long elements;    ///< of the message without the padded row: rows * G
  int phase;             ///< p = (rank - class) mod N
  int sample;     ///< number k of the sample that this visit completes; before the first one -1, -2, ...
                  ///< counting back
  float divisor;  ///< 1 for a sum, N for an average
  cerar_rounding received_as, message_as;
  int vector_width;  ///< elements per access that all pointers are aligned for (GPU: 4 or 1)
};

/// The one parameter of the kernels `widen` and `narrow`, which convert `elements` elements of a vector in 16
/// bits to f32 and back.
struct cerar_convert_arguments {
  const void* from;
  void* to;
  long long elements;
  int is_bf16;       ///< 1: bf16, 0: f16
  int vector_width;  ///< elements per access that both pointers are aligned for (4 or 1)
};
