#include "tests/gpu/check_kernels/ring_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/measure/measure.h"
#include "runtime/plan/wire.h"

namespace cerar::test {
namespace {

using namespace runtime;

class Ring {
 public:
  Ring(const DeviceHandle& device, CuStream stream, const Variant& variant, const DeviceKernelTable& kernels,
       const HostKernelTable& host, const RunCase& run)
      : device_(device),
        stream_(stream),
        variant_(variant),
        kernels_(kernels),
        host_(host),
        run_(run),
        line_(static_cast<std::uint64_t>(variant.interleave)),
        row_(static_cast<std::uint64_t>(variant.shape.components) * line_),
        piece_{.begin = 0, .rows = run.rows, .tail = run.tail},
        arena_(variant, piece_, run),
        words_(arena_.bytes() / 4),
        seen_(words_) {
    for (int rank = 0; rank < variant_.shape.workers; ++rank) {
      inputs_.push_back(make_input(is_exact(variant) ? Input::integers : Input::normal, rank, count()));
      images_.emplace_back(words_, Arena::kPoison);
      std::byte* const image = bytes_of(rank);
      const std::uint64_t whole = piece_.rows * row_;
      std::memcpy(image + arena_.input_offset(), inputs_.back().data(), whole * sizeof(float));
      if (piece_.tail) {
        std::memset(image + arena_.padded_offset(), 0, row_ * sizeof(float));
        std::memcpy(image + arena_.padded_offset(), inputs_.back().data() + whole,
                    piece_.tail * sizeof(float));
      }
      memory_.emplace_back(device_, arena_.bytes());
      check(driver().cuMemcpyHtoDAsync_v2(memory_.back().address(), image, arena_.bytes(), stream_),
            "copying to a device");
    }
    check(driver().cuStreamSynchronize(stream_), "waiting for copies");
  }

  RunResult all_visits() {
    for (int visit = 1; visit <= variant_.shape.visits; ++visit) {
      for (int rank = 0; rank < variant_.shape.workers; ++rank) run_visit(rank, visit);
      if (visit < variant_.shape.visits) pass(visit);
    }
    judge();
    return result_;
  }

 private:
  std::uint64_t count() const { return piece_.rows * row_ + piece_.tail; }
  std::byte* bytes_of(int rank) {
    return reinterpret_cast<std::byte*>(images_[static_cast<std::size_t>(rank)].data());
  }
  CuAddress address_of(int rank) const { return memory_[static_cast<std::size_t>(rank)].address(); }

  void run_visit(int rank, int visit) {
    const Step step = step_at(variant_.shape, variant_.messages, rank, visit);
    const float divisor = run_.average ? static_cast<float>(variant_.shape.workers) : 1.0f;
    const auto arguments = [&](std::uint64_t base) {
      return arguments_of(variant_, piece_, arena_.at(base, visit), step, divisor, arena_.early_class());
    };
    auto on_device = arguments(address_of(rank));
    on_device.vector_width = run_.vector_width;
    DeviceKernel kernel = kernels_[static_cast<std::size_t>(step.role)];
    if (run_.most_blocks) kernel.resident_blocks = std::min(kernel.resident_blocks, run_.most_blocks);
    const auto elements = std::max<long long>(on_device.elements, variant_.interleave);
    kernel.launch(on_device, elements / on_device.vector_width, stream_);
    ++result_.launches;
    check(driver().cuMemcpyDtoHAsync_v2(seen_.data(), address_of(rank), arena_.bytes(), stream_),
          "copying from a device");
    host_[static_cast<std::size_t>(step.role)](arguments(reinterpret_cast<std::uintptr_t>(bytes_of(rank))));
    check(driver().cuStreamSynchronize(stream_), "kernel {} of {}", name_of(step.role), variant_.name);
    compare(step, rank, visit);
  }

  void compare(const Step& step, int rank, int visit) {
    const auto& image = images_[static_cast<std::size_t>(rank)];
    result_.words += words_;
    if (!std::memcmp(image.data(), seen_.data(), arena_.bytes())) return;
    for (std::uint64_t i = 0; i < words_; ++i) {
      if (image[i] == seen_[i]) continue;
      if (!result_.different++)
        result_.first_difference = fmt::format(
            "visit {} ({}, phase {}, sample {}) of rank {}, {}: {:08x} instead of {:08x}", visit,
            name_of(step.role), step.phase, step.sample, rank, arena_.region_of(4 * i), seen_[i], image[i]);
    }
  }

  void pass(int visit) {
    const std::uint64_t bytes = message_bytes(variant_, piece_.rows * line_, piece_.tail != 0);
    const std::uint64_t from = arena_.message_offset(visit), to = arena_.message_offset(visit + 1);
    for (int rank = 0; rank < variant_.shape.workers; ++rank) {
      const int next = (rank + 1) % variant_.shape.workers;
      std::memcpy(bytes_of(next) + to, bytes_of(rank) + from, bytes);
      check(driver().cuMemcpyDtoDAsync_v2(address_of(next) + to, address_of(rank) + from, bytes, stream_),
            "copying within a device");
    }
  }

  // The device's results, not their images.
  void judge() {
    const auto workers = static_cast<double>(variant_.shape.workers);
    std::vector<double> exact(count());
    for (const auto& input : inputs_)
      for (std::uint64_t i = 0; i < count(); ++i) exact[i] += input[i];
    double error = 0, square = 0;
    std::vector<float> values(count());
    for (int rank = 0; rank < variant_.shape.workers; ++rank) {
      check(driver().cuMemcpyDtoHAsync_v2(seen_.data(), address_of(rank), arena_.bytes(), stream_),
            "copying from a device");
      check(driver().cuStreamSynchronize(stream_), "waiting for a copy");
      const auto* const seen = reinterpret_cast<const std::byte*>(seen_.data());
      const std::uint64_t whole = piece_.rows * row_;
      std::memcpy(values.data(), seen + arena_.slots_offset(), whole * sizeof(float));
      if (piece_.tail)
        std::memcpy(values.data() + whole, seen + arena_.padded_offset(), piece_.tail * sizeof(float));
      for (std::uint64_t i = 0; i < count(); ++i) {
        const double wanted = run_.average ? exact[i] / workers : exact[i];
        error += (values[i] - wanted) * (values[i] - wanted);
        square += wanted * wanted;
        result_.not_exact += values[i] != static_cast<float>(wanted);
      }
    }
    result_.error = std::sqrt(error / square);
  }

  const DeviceHandle& device_;
  const CuStream stream_;
  const Variant& variant_;
  const DeviceKernelTable& kernels_;
  const HostKernelTable& host_;
  const RunCase& run_;
  const std::uint64_t line_, row_;
  const Piece piece_;
  const Arena arena_;
  const std::uint64_t words_;
  std::vector<std::vector<float>> inputs_;          // [rank]
  std::vector<std::vector<std::uint32_t>> images_;  // [rank] what the host's kernels make
  std::vector<DeviceBuffer> memory_;                // [rank]
  std::vector<std::uint32_t> seen_;
  RunResult result_;
};

}  // namespace

RunResult run_ring(const DeviceHandle& device, CuStream stream, const Variant& variant,
                   const DeviceKernelTable& kernels, const HostKernelTable& host, const RunCase& run) {
  return Ring(device, stream, variant, kernels, host, run).all_visits();
}

}  // namespace cerar::test
