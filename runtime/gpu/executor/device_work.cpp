#include "runtime/gpu/executor/device_work.h"

#include <algorithm>

#include "runtime/comm/pieces.h"
#include "runtime/plan/wire.h"

namespace cerar::runtime {
namespace {

// Guesses, until they are measured on GPUs: below this a round costs more than its bytes; copies up to that
// are not worth cutting for; further pieces cost launches.
constexpr std::uint64_t kLeastMessage = 128 << 10;
constexpr std::uint64_t kFreeCopies = 64 << 20;
constexpr std::uint64_t kMostPiecesPerLane = 4;
constexpr std::uint64_t kPack = 4;  // elements of an access of 16 bytes
constexpr std::uint64_t kAlignment = 16;

std::uint64_t row_elements(const Variant& variant) {
  return static_cast<std::uint64_t>(variant.shape.components) *
         static_cast<std::uint64_t>(variant.interleave);
}

template <typename Pointer>
Pointer pointer_to(CuAddress address) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(address));
}

CuAddress address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

CallShape shape_of(const Variant& variant, std::uint64_t count, DataType type) {
  const std::uint64_t rows = count / row_elements(variant);
  const auto message =
      static_cast<std::uint64_t>(static_cast<double>(rows * static_cast<std::uint64_t>(variant.interleave)) *
                                 bytes_per_element(variant.wire, variant.block));
  const std::uint64_t lanes =
      std::clamp<std::uint64_t>(message / kLeastMessage, 1, static_cast<std::uint64_t>(variant.lanes));
  const std::uint64_t copies = type == DataType::f32 ? 0 : count * sizeof(float);
  const std::uint64_t turns =
      std::clamp<std::uint64_t>((copies + kFreeCopies - 1) / kFreeCopies, 1, kMostPiecesPerLane);
  CallShape shape{
      .variant = &variant,
      .pieces = cut_into(variant, count, std::min(lanes * turns, std::max<std::uint64_t>(rows, 1))),
      .lanes = static_cast<std::size_t>(lanes)};
  for (const auto& piece : shape.pieces) shape.most_rows = std::max(shape.most_rows, piece.rows);
  return shape;
}

bool works_in_place(const Variant& variant, const Call& call) {
  if (call.type != DataType::f32) return false;
  return !is_block_wire(variant.wire) || (address_of(call.send) | address_of(call.receive)) % kAlignment == 0;
}

LaneBytes lane_bytes(const CallShape& shape, bool in_place) {
  if (!shape.variant) return {};
  const Variant& variant = *shape.variant;
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const bool padded = shape.pieces.back().tail != 0;
  return {.message = message_bytes(variant, shape.most_rows * line, padded),
          .early = early_class_elements(variant, shape.most_rows, padded) *
                   static_cast<std::uint64_t>(variant.shape.classes) * sizeof(float),
          .copy = in_place ? 0 : shape.most_rows * row_elements(variant) * sizeof(float),
          .padded = padded ? row_elements(variant) * sizeof(float) : 0};
}

std::uint64_t DevicePiece::elements() const { return piece_.rows * row_elements(*shape_.variant); }

std::uint64_t DevicePiece::message_bytes() const {
  return runtime::message_bytes(*shape_.variant,
                                piece_.rows * static_cast<std::uint64_t>(shape_.variant->interleave),
                                piece_.tail != 0);
}

CuAddress DevicePiece::in_vector(const void* vector, std::uint64_t element) const {
  return address_of(vector) + element * size_of(call_.type);
}

int DevicePiece::convert(Role role, CuAddress from, CuAddress to, std::uint64_t elements) const {
  if (elements == 0) return 0;
  if (call_.type == DataType::f32) {
    check(driver().cuMemcpyDtoDAsync_v2(to, from, elements * sizeof(float), lane_.kernels()),
          "copying within a device");
    return 0;
  }
  const cerar_convert_arguments arguments{
      .from = pointer_to<const void*>(from),
      .to = pointer_to<void*>(to),
      .elements = static_cast<long long>(elements),
      .is_bf16 = call_.type == DataType::bf16,
      .vector_width = (from | to) % kAlignment == 0 ? static_cast<int>(kPack) : 1};
  kernels_[static_cast<std::size_t>(role)].launch(arguments, static_cast<long long>(elements / kPack),
                                                  lane_.kernels());
  return 1;
}

int DevicePiece::begin() const {
  int launches = 0;
  if (!works_in_place(*shape_.variant, call_))
    launches += convert(Role::widen, in_vector(call_.send, piece_.begin), lane_.copy(), elements());
  if (piece_.tail) {
    const std::uint64_t zeros = row_elements(*shape_.variant) - piece_.tail;
    check(driver().cuMemsetD32Async(lane_.padded() + piece_.tail * sizeof(float), 0, zeros, lane_.kernels()),
          "clearing device memory");
    launches +=
        convert(Role::widen, in_vector(call_.send, piece_.begin + elements()), lane_.padded(), piece_.tail);
  }
  return launches;
}

int DevicePiece::end() const {
  int launches = 0;
  if (!works_in_place(*shape_.variant, call_))
    launches += convert(Role::narrow, lane_.copy(), in_vector(call_.receive, piece_.begin), elements());
  if (piece_.tail)
    launches += convert(Role::narrow, lane_.padded(), in_vector(call_.receive, piece_.begin + elements()),
                        piece_.tail);
  return launches;
}

void DevicePiece::run(const Step& step, int visit, float divisor) const {
  const Variant& variant = *shape_.variant;
  const bool in_place = works_in_place(variant, call_);
  const CuAddress input = in_place ? in_vector(call_.send, piece_.begin) : lane_.copy();
  const CuAddress slots = in_place ? in_vector(call_.receive, piece_.begin) : lane_.copy();
  const PieceMemory memory{.input = pointer_to<const float*>(input),
                           .slots = pointer_to<float*>(slots),
                           .padded = pointer_to<float*>(lane_.padded()),
                           .early = pointer_to<float*>(lane_.early()),
                           .message = pointer_to<void*>(lane_.message(visit)),
                           .type = call_.type};
  const bool padded = shape_.pieces.back().tail != 0;
  auto arguments = arguments_of(variant, piece_, memory, step, divisor,
                                early_class_elements(variant, shape_.most_rows, padded));
  if ((input | slots) % kAlignment == 0) arguments.vector_width = static_cast<int>(kPack);
  const auto elements = std::max<long long>(arguments.elements, variant.interleave);
  kernels_[static_cast<std::size_t>(step.role)].launch(arguments, elements / arguments.vector_width,
                                                       lane_.kernels());
}

}  // namespace cerar::runtime
