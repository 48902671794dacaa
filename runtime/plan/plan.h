#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/plan/shape.h"

namespace cerar::runtime {

/// What the messages carry: plain sums (r = 1), linear combinations, or scaled differences.
enum class Messages { sum, plain, differential };
/// `ring`: partial sums, c a divisor of N; the one exact construction. `unimodular`: other c < N,
/// coefficients 0 and +-1.
enum class Construction { ring, unimodular, harmonic, vandermonde, optimized, differential };
/// Type of vectors in memory; sums are always formed in f32.
enum class DataType { f32, bf16, f16 };
constexpr std::size_t size_of(DataType type) { return type == DataType::f32 ? 4 : 2; }
/// Type of messages: floating point, or blocks of integers of so many bits (fixed point) with a scale each.
enum class Wire { f32, bf16, f16, fx16, fx12, fx8 };

/// Relative rms errors for gradients that are independent over workers (tuner/DESIGN.md, section 4).
struct ErrorClaim {
  double condition = 1;            ///< max over phases of cond(V_(p,0))
  double noise_gain = 0;           ///< noise rms / nu of the wire
  double approximation = 0;        ///< rms of the code's own error, no rounding
  double approximation_worst = 0;  ///< largest over phases of the rms within one phase
  double noise = 0;                ///< rms of the wire's rounding after decoding
  double total = 0;                ///< sqrt(approximation^2 + noise^2)
};

/// c divides N: messages are partial sums, nothing to tabulate.
struct SumTables {};

/// Plain codes with r >= 2.
struct PlainTables {
  /// [chains][visits][terms] row-major: coefficient beta_j(t)[k] with which a worker stands in the
  /// message of chain j after its latest visit t = 1..T. Increments over N visits are exact f32 numbers.
  std::vector<double> beta;
  /// [workers][terms][terms] row-major, [p][s][k]: component k of the sum is the sum over s of
  /// decode[p][s][k] z_s, x the samples in order of time, z_s = x_s for s < M and x_s - x_(s-M) from there
  /// on. Samples M apart are neighbours on one chain; their difference is exact in floating point, so the
  /// large numbers cancel there.
  std::vector<float> decode;
  /// [workers][terms][terms]: the same for calls out of place, where a rank still has its own vector g when
  /// it decodes; optimal for the other ranks' vectors alone. Empty, with own_out_of_place: `decode` serves
  /// all calls.
  std::vector<float> decode_out_of_place;
  /// [workers][terms][terms], [p][m][k]: component k of the sum gets own_out_of_place[p][m][k] g_m besides,
  /// which makes the rank's own part of it exact: own_out_of_place[p] = I - V_(p,0) D_p, D_p what
  /// decode_out_of_place stands for.
  std::vector<float> own_out_of_place;
};

/// Codes whose kernels decode vectors out of place on their own: up to this many terms a GPU holds the
/// samples and the rank's own components in registers (at most 72). Exact codes have nothing to correct.
inline constexpr int kMostOutOfPlaceTerms = 4;
constexpr bool can_decode_out_of_place(const Shape& shape) {
  return shape.components > shape.workers && shape.terms <= kMostOutOfPlaceTerms;
}

/// Differential codes (c = rN, r >= 2), Toeplitz in the component: rows per phase p.
struct DifferentialTables {
  float epsilon = 0;       ///< drift
  double shift = 0;        ///< s = (1 + 1/N) / 2
  bool own_exact = false;  ///< the worker's own leakage is removed from its samples
  /// [workers][3]: contribution of components 0, 1, 2 at visits t <= N (t = p, or N for p = 0): T_0(t).
  std::vector<float> open;
  /// [workers][3]: contribution of components m+1, m+2, m+3 (m the order received) at visits t > N.
  std::vector<float> extend;
  /// [workers][2][2]: correction with components k+1, k+2 of the stored sample k;
  /// row 0 for k <= r-3, row 1 for k = r-2 (second entry 0). All zero unless own_exact.
  std::vector<float> own;
  /// [workers][3][3]: component k = sum over j of decode[p][row][j] x_(k+j);
  /// row 0 for k <= r-3, row 1 for k = r-2 (two entries), row 2 for k = r-1 (one entry).
  std::vector<float> decode;
};

using Tables = std::variant<SumTables, PlainTables, DifferentialTables>;

/// Affine predictions: microseconds = fixed + per_mebibyte * bytes / 2^20.
struct Prediction {
  double fixed_us = 0;
  double us_per_mib = 0;
  double baseline_fixed_us = 0;
  double baseline_us_per_mib = 0;
};

/// A compiled file: `target` is "source", "host", an architecture such as "sm_80", or "compute_80" for PTX.
struct Artefact {
  std::string target;
  std::string file;    ///< relative to the plan directory
  std::string sha256;  ///< lower-case hex
};

/// What the compiler reported for one kernel on one GPU architecture.
struct KernelResources {
  std::string target;
  int registers = 0;
  int spill_bytes = 0;
};

struct Kernel {
  std::string role;   ///< a name of plan/schedule.h
  std::string entry;  ///< exported symbol
  int threads = 256;  ///< per block on GPUs; how many blocks follows from the device and the message
  std::vector<KernelResources> resources;
};

struct Variant {
  std::string name;
  std::uint64_t min_bytes = 0;                                          ///< of the vector, inclusive
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();  ///< inclusive
  Construction construction = Construction::ring;
  Messages messages = Messages::sum;
  Shape shape;
  Wire wire = Wire::f32;
  int block = 128;                      ///< elements that share a scale, for wires of block fixed point
  int interleave = 32;                  ///< G, elements per line; a power of two
  int lanes = 1;                        ///< pieces of the vector under way at once; small vectors use fewer
  std::uint64_t message_bytes = 65536;  ///< preferred size of a message; sets the size of the pieces
  ErrorClaim claim;                     ///< of every call, but where there is claim_out_of_place:
  /// Of whole rows out of place, for plain codes with decode_out_of_place.
  std::optional<ErrorClaim> claim_out_of_place;
  Tables tables;
  double growth = 1;  ///< what follows from the tables: growth_of(), plan/wire.h
  Prediction prediction;
  std::vector<Kernel> kernels;
  std::vector<Artefact> artefacts;
};

/// Each element is a sum in f32 of the ranks' elements, within N 2^-24 of the sum of their magnitudes,
/// whatever stands beside it. Messages of fewer bits round it, and codes that mix components are exact at
/// most relative to the neighbours that they mix.
inline bool is_exact(const Variant& variant) {
  return variant.construction == Construction::ring && variant.wire == Wire::f32;
}

/// Whether every rank ends with the same bits. With c = N each sum is completed by one rank and passed on as
/// it is. With fewer components several ranks complete a sum, each in an order of its own (two numbers have
/// but one, in f32); codes that mix components are decoded by each rank from other messages.
inline bool is_identical_on_all_ranks(const Variant& variant) {
  const Shape& shape = variant.shape;
  return variant.construction == Construction::ring &&
         (shape.components == shape.workers || (shape.workers == 2 && variant.wire == Wire::f32));
}

/// Both ends inclusive.
struct ByteRange {
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

struct Plan {
  std::string generator;  ///< "cerar <version>"
  std::string topology;
  std::string fingerprint;  ///< SHA-256 of the topology's canonical text
  std::string reason;       ///< why this choice, one sentence
  int workers = 1;
  DataType data_type = DataType::f32;
  double max_error = 0;
  std::string baseline;  ///< the all-reduce that the plan was compared with
  /// Sizes at which the baseline is predicted to be faster than the plan's own kernels; a transport that
  /// offers it uses it there.
  std::vector<ByteRange> baseline_faster;
  std::string host_target;        ///< machine the host kernels need, e.g. "x86-64-v3"
  std::string nvrtc;              ///< version that compiled for GPUs, "13.0"; empty: none, or not recorded
  std::vector<Variant> variants;  ///< ascending, byte ranges cover everything without overlap
  std::string digest;             ///< SHA-256 of plan.yaml's content, set when written or loaded
};

}  // namespace cerar::runtime
