#include "runtime/executor/host/lane.h"

#include <algorithm>
#include <cstring>

namespace cerar::runtime {

Lane::Lane(const Variant& variant, std::uint64_t begin, std::uint64_t rows, std::uint64_t tail)
    : shape_(variant.shape),
      line_(static_cast<std::uint64_t>(variant.interleave)),
      begin_(begin),
      rows_(rows),
      tail_(tail) {
  for (auto& message : messages_) message.resize((rows_ + (tail_ ? 1 : 0)) * line_);
  if (tail_) padded_.resize(static_cast<std::uint64_t>(shape_.components) * line_);
}

std::uint64_t Lane::scratch_bytes() const {
  return (messages_[0].size() + messages_[1].size() + padded_.size()) * sizeof(float);
}

void Lane::load_tail(const Call& call) {
  if (!tail_) return;
  const std::uint64_t first = begin_ + rows_ * static_cast<std::uint64_t>(shape_.components) * line_;
  std::memcpy(padded_.data(), call.send + first, tail_ * sizeof(float));
  std::fill(padded_.begin() + static_cast<std::ptrdiff_t>(tail_), padded_.end(), 0.0f);
}

void Lane::store_tail(const Call& call) const {
  if (!tail_) return;
  const std::uint64_t first = begin_ + rows_ * static_cast<std::uint64_t>(shape_.components) * line_;
  std::memcpy(call.receive + first, padded_.data(), tail_ * sizeof(float));
}

std::span<std::byte> Lane::message(int visit) {
  return std::as_writable_bytes(std::span(messages_[visit % 2]));
}

cerar_visit_arguments Lane::arguments(const Call& call, const Step& step, int visit, float divisor) {
  const std::uint64_t class_row = static_cast<std::uint64_t>(shape_.terms) * line_;
  const std::uint64_t first = begin_ + static_cast<std::uint64_t>(step.class_index) * rows_ * class_row;
  float* const message = messages_[visit % 2].data();
  return {.input = call.send + first,
          .slots = call.receive + first,
          .tail = tail_ ? padded_.data() + static_cast<std::uint64_t>(step.class_index) * class_row : nullptr,
          .received = step.receives ? message : nullptr,
          .message = step.sends ? message : nullptr,
          .elements = static_cast<long long>(rows_ * line_),
          .phase = step.phase,
          .sample = step.sample,
          .divisor = step.averages ? divisor : 1.0f,
          .vector_width = 1};
}

std::vector<Lane> make_lanes(const Variant& variant, std::uint64_t count, int limit,
                             std::uint64_t min_message_bytes) {
  const std::uint64_t line = static_cast<std::uint64_t>(variant.interleave);
  const std::uint64_t row = static_cast<std::uint64_t>(variant.shape.components) * line;
  const std::uint64_t rows = count / row, tail = count % row;
  const std::uint64_t fitting = rows * line * sizeof(float) / std::max<std::uint64_t>(min_message_bytes, 1);
  const std::uint64_t lanes = std::clamp<std::uint64_t>(fitting, 1, static_cast<std::uint64_t>(limit));
  std::vector<Lane> result;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < lanes; ++i) {
    const std::uint64_t share = rows / lanes + (i < rows % lanes ? 1 : 0);
    result.emplace_back(variant, begin, share, i + 1 == lanes ? tail : 0);
    begin += share * row;
  }
  return result;
}

}  // namespace cerar::runtime
