#include "tests/gpu/check_kernels/arena.h"

#include "runtime/plan/wire.h"

namespace cerar::test {
namespace {

constexpr std::uint64_t kGuard = 512, kAlignment = 256;

template <typename Pointer>
Pointer pointer_to(std::uint64_t address) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Arena::Arena(const runtime::Variant& variant, const runtime::Piece& piece, const RunCase& run) {
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t row = static_cast<std::uint64_t>(variant.shape.components) * line;
  const bool padded = piece.tail != 0;
  const std::uint64_t vector = piece.rows * row * sizeof(float);
  // 16 bytes are all that packs of four may count on.
  const std::uint64_t skew = run.vector_width == 1 ? sizeof(float) : 16;
  input_ = place("input", vector, skew);
  slots_ = run.in_place ? input_ : place("result", vector, skew);
  padded_ = place("padded row", padded ? row * sizeof(float) : 0, 16);
  early_class_ = runtime::early_class_elements(variant, piece.rows, padded);
  early_ = place("early symbols",
                 early_class_ * static_cast<std::uint64_t>(variant.shape.classes) * sizeof(float), 16);
  for (auto& message : message_)
    message = place("message", runtime::message_bytes(variant, piece.rows * line, padded), 16);
  bytes_ += kGuard;
  bytes_ = (bytes_ + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint64_t Arena::place(const char* name, std::uint64_t bytes, std::uint64_t skew) {
  const std::uint64_t begin = (bytes_ + kGuard + kAlignment - 1) / kAlignment * kAlignment + skew;
  regions_.push_back({name, begin, begin + bytes});
  bytes_ = begin + bytes;
  return begin;
}

runtime::PieceMemory Arena::at(std::uint64_t base, int visit) const {
  return {.input = pointer_to<const float*>(base + input_),
          .slots = pointer_to<float*>(base + slots_),
          .padded = pointer_to<float*>(base + padded_),
          .early = pointer_to<float*>(base + early_),
          .message = pointer_to<void*>(base + message_offset(visit))};
}

std::string Arena::region_of(std::uint64_t offset) const {
  for (const auto& region : regions_)
    if (offset >= region.begin && offset < region.end)
      return std::string(region.name) + " byte " + std::to_string(offset - region.begin);
  return "guard zone at byte " + std::to_string(offset);
}

}  // namespace cerar::test
