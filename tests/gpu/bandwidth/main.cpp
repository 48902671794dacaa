// gpu-bandwidth [--mebibytes N] PLAN...: bytes per second of each kernel against copies within the device
// that are made in between. Timings are printed, never judged; with the stand-in, which has no timing events,
// they are the host's and mean nothing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>

#include "runtime/comm/pieces.h"
#include "runtime/gpu/executor/device_kernels.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/wire.h"
#include "tests/gpu/bandwidth/kernel_bytes.h"
#include "tests/gpu/support/driver_extras.h"
#include "tests/gpu/support/program.h"

namespace cerar::test {
namespace {

using namespace runtime;

constexpr int kRepetitions = 7;
constexpr double kGiga = 1e9;

class Event {
 public:
  Event() { check(driver().cuEventCreate(&event_, 0), "creating an event with timing"); }
  ~Event() { driver().cuEventDestroy_v2(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CuEvent get() const { return event_; }

 private:
  CuEvent event_ = nullptr;
};

// Memory with independent normal numbers, a period of which repeats: messages of every type read as numbers.
DeviceBuffer filled(const DeviceHandle& device, std::uint64_t bytes, CuStream stream) {
  static const auto values = make_input(Input::normal, 0, 1 << 20);
  DeviceBuffer buffer(device, bytes);
  const std::uint64_t period = values.size() * sizeof(float);
  for (std::uint64_t at = 0; at < bytes; at += period)
    check(driver().cuMemcpyHtoDAsync_v2(buffer.address() + at, values.data(), std::min(period, bytes - at),
                                        stream),
          "copying to a device");
  return buffer;
}

template <typename Pointer>
Pointer pointer_to(CuAddress address) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(address));
}

class Bench {
 public:
  Bench(DeviceHandle device, std::uint64_t working_set)
      : device_(std::move(device)),
        stream_(device_),
        working_set_(working_set),
        from_(filled(device_, working_set / 2, stream_.get())),
        to_(filled(device_, working_set / 2, stream_.get())) {}

  CuStream stream() const { return stream_.get(); }
  const DeviceHandle& device() const { return device_; }
  std::uint64_t working_set() const { return working_set_; }

  /// Prints a line: the medians of `launch`, which moves `bytes` bytes, and of copies made in turns with it.
  void line(const std::string& name, std::uint64_t bytes, const std::function<void()>& launch) {
    const auto copy = [&] {
      check(driver().cuMemcpyDtoDAsync_v2(to_.address(), from_.address(), working_set_ / 2, stream()),
            "copying within a device");
    };
    launch();
    copy();
    std::array<double, kRepetitions> own{}, copies{};
    for (std::size_t i = 0; i < kRepetitions; ++i) {
      own[i] = seconds(launch);
      copies[i] = seconds(copy);
    }
    const double rate = static_cast<double>(bytes) / median(own) / kGiga;
    const double copied = static_cast<double>(working_set_) / median(copies) / kGiga;
    std::printf("%-46s %8.1f GB/s  copy %8.1f GB/s  ratio %.2f  (%.1f us, %.0f MiB)\n", name.c_str(), rate,
                copied, rate / copied, median(own) * 1e6, static_cast<double>(bytes) / (1 << 20));
    std::fflush(stdout);
    lowest_ = std::min(lowest_, rate / copied);
    highest_ = std::max(highest_, rate / copied);
    copy_rate_ = copied;
    ++lines_;
  }

  int lines() const { return lines_; }

  std::string figure() const {
    if (is_stand_in()) return fmt::format("{} kernels; the stand-in's figures mean nothing", lines_);
    return fmt::format("{} kernels at {:.2f} to {:.2f} of a device copy ({:.0f} GB/s)", lines_, lowest_,
                       highest_, copy_rate_);
  }

 private:
  double seconds(const std::function<void()>& work) const {
    float milliseconds = 0;
    const auto begun = std::chrono::steady_clock::now();
    check(driver().cuEventRecord(begin_.get(), stream()), "recording an event");
    work();
    check(driver().cuEventRecord(end_.get(), stream()), "recording an event");
    check(driver().cuStreamSynchronize(stream()), "waiting for a kernel");
    if (!elapsed_time())
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    check(elapsed_time()(&milliseconds, begin_.get(), end_.get()), "asking for the time between events");
    return milliseconds / 1e3;
  }

  static double median(std::array<double, kRepetitions> values) {
    std::nth_element(values.begin(), values.begin() + kRepetitions / 2, values.end());
    return values[kRepetitions / 2];
  }

  DeviceHandle device_;
  DeviceStream stream_;
  std::uint64_t working_set_;
  DeviceBuffer from_, to_;
  Event begin_, end_;
  double lowest_ = std::numeric_limits<double>::infinity(), highest_ = 0, copy_rate_ = 0;
  int lines_ = 0;
};

// The visits of rank 0 that differ in what their kernels do: role, turn or not, forwarding or not. The middle
// one of each kind stands for it.
std::vector<Step> steps_of(const Variant& variant) {
  std::vector<std::vector<Step>> kinds;
  for (int rank = 0; rank < variant.shape.workers; ++rank)
    for (int visit = 1; visit <= variant.shape.visits; ++visit) {
      const Step step = step_at(variant.shape, variant.messages, rank, visit);
      const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& steps) {
        const bool turn = variant.messages == Messages::differential && step.phase == 0;
        const bool other = variant.messages == Messages::differential && steps[0].phase == 0;
        return steps[0].role == step.role && turn == other && steps[0].receives == step.receives &&
               steps[0].sends == step.sends;
      });
      if (kind == kinds.end())
        kinds.push_back({step});
      else
        kind->push_back(step);
    }
  std::vector<Step> steps;
  for (const auto& kind : kinds) steps.push_back(kind[kind.size() / 2]);
  return steps;
}

// One class of so many rows that the launch moves the working set.
void measure(Bench& bench, const Variant& variant, const DeviceKernelTable& kernels, Step step) {
  step.class_index = 0;
  const auto line = static_cast<std::uint64_t>(variant.interleave);
  const auto terms = static_cast<std::uint64_t>(variant.shape.terms);
  const auto arguments = [&](std::uint64_t rows, const PieceMemory& memory) {
    const Piece piece{.begin = 0, .rows = rows, .tail = 0};
    auto a = arguments_of(variant, piece, memory, step, 1.0f, early_class_elements(variant, rows, false));
    a.vector_width = 4;
    return a;
  };
  constexpr std::uint64_t kProbe = 1024;
  float probe = 0;
  const PieceMemory nowhere{.input = &probe, .slots = &probe, .early = &probe, .message = &probe};
  const std::uint64_t rows = std::max<std::uint64_t>(
      1, bench.working_set() * kProbe / kernel_bytes(variant, step, arguments(kProbe, nowhere)));
  const DeviceBuffer vector = filled(bench.device(), rows * terms * line * sizeof(float), bench.stream());
  const DeviceBuffer message =
      filled(bench.device(), message_bytes(variant, rows * line, false), bench.stream());
  const DeviceBuffer early =
      filled(bench.device(), early_class_elements(variant, rows, false) * sizeof(float), bench.stream());
  const auto a = arguments(rows, {.input = pointer_to<const float*>(vector.address()),
                                  .slots = pointer_to<float*>(vector.address()),
                                  .padded = nullptr,
                                  .early = pointer_to<float*>(early.address()),
                                  .message = pointer_to<void*>(message.address())});
  const bool turn = variant.messages == Messages::differential && step.phase == 0;
  bench.line(fmt::format("{} {}{}{}", variant.name, name_of(step.role), turn ? ", turn" : "",
                         !step.receives ? ", first"
                         : !step.sends  ? ", last"
                                        : ""),
             kernel_bytes(variant, step, a),
             [&] { kernels[static_cast<std::size_t>(step.role)].launch(a, a.elements / 4, bench.stream()); });
}

void measure_conversions(Bench& bench, const DeviceKernelTable& kernels) {
  const std::uint64_t elements = bench.working_set() / 6;
  const DeviceBuffer thin = filled(bench.device(), elements * 2, bench.stream());
  const DeviceBuffer wide = filled(bench.device(), elements * 4, bench.stream());
  for (const Role role : kConversions)
    for (const bool is_bf16 : {true, false}) {
      const bool widens = role == Role::widen;
      const cerar_convert_arguments a{
          .from = pointer_to<const void*>(widens ? thin.address() : wide.address()),
          .to = pointer_to<void*>(widens ? wide.address() : thin.address()),
          .elements = static_cast<long long>(elements),
          .is_bf16 = is_bf16,
          .vector_width = 4};
      bench.line(fmt::format("{} {}", name_of(role), is_bf16 ? "bf16" : "f16"), 6 * elements,
                 [&] { kernels[static_cast<std::size_t>(role)].launch(a, a.elements / 4, bench.stream()); });
    }
}

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  return run_program([&](Report& report) -> std::string {
    const Arguments arguments(argc, argv);
    const auto device = std::make_shared<const Device>(0);
    const OnDevice current(*device);
    Bench bench(device, static_cast<std::uint64_t>(arguments.number("--mebibytes", 256)) << 20);
    bool converted = false;
    for (const auto& directory : arguments.rest({"--mebibytes"})) try {
        use_plan(directory);
        const auto loaded = std::make_shared<const LoadedPlan>(load_plan_directory(directory));
        DeviceKernels kernels(device, loaded);
        const Variant& variant = loaded->plan->variants.back();
        for (const Step& step : steps_of(variant)) measure(bench, variant, kernels.of(variant), step);
        if (!std::exchange(converted, true)) measure_conversions(bench, kernels.of(variant));
      } catch (const std::exception& error) {
        report.fail(directory + ": " + error.what());
      }
    if (!bench.lines()) report.fail("nothing was measured; name plan directories");
    return bench.figure();
  });
}
