#include "tests/unit/generator/host_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>

#include "generator/compile/host_compiler.h"
#include "generator/specialise/specialise.h"

namespace cerar::test {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kGuard = 64;

/// `size` elements between two poisoned zones.
class Guarded {
 public:
  explicit Guarded(std::size_t size) : values_(size + 2 * kGuard, kPoison), size_(size) {}

  float* data() { return values_.data() + kGuard; }
  const float* data() const { return values_.data() + kGuard; }

  void fill(std::mt19937& engine) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < size_; ++i) data()[i] = normal(engine);
  }

  void expect_guards_intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      ASSERT_TRUE(std::isnan(values_[i])) << "written before the buffer";
      ASSERT_TRUE(std::isnan(values_[kGuard + size_ + i])) << "written behind the buffer";
    }
  }

 private:
  std::vector<float> values_;
  std::size_t size_;
};

void expect_close(float found, double expected, const std::string& where) {
  ASSERT_LE(std::fabs(found - expected), 1e-4 * std::max(1.0, std::fabs(expected)))
      << where << ": " << found << " instead of " << expected;
}

}  // namespace

HostLibrary::HostLibrary(const generator::KernelSpec& spec, const std::string& preamble)
    : prefix_(spec.prefix) {
  const auto path = directory_.path() / "kernels.so";
  std::ofstream(path, std::ios::binary)
      << generator::compile_host(preamble + generator::specialise(spec), generator::host_target());
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(::dlerror());
}

HostLibrary::~HostLibrary() {
  if (handle_) ::dlclose(handle_);
}

void* HostLibrary::symbol(const std::string& name) const {
  void* found = ::dlsym(handle_, name.c_str());
  if (!found) throw std::runtime_error("no symbol " + name);
  return found;
}

void HostLibrary::run(const std::string& role, const cerar_visit_arguments& arguments) const {
  using Kernel = void (*)(cerar_visit_arguments);
  reinterpret_cast<Kernel>(symbol("cerar_" + prefix_ + "_" + role))(arguments);
}

unsigned HostLibrary::arguments_size() const {
  return *static_cast<const unsigned*>(symbol("cerar_visit_arguments_size"));
}

void expect_matches(const HostLibrary& library, const std::string& role, const Visit& visit,
                    const std::function<void(Element&)>& reference) {
  const auto terms = static_cast<std::size_t>(visit.terms), line = static_cast<std::size_t>(visit.interleave);
  const auto rows = static_cast<std::size_t>(visit.rows);
  const std::size_t row = terms * line, messages = (rows + (visit.has_tail ? 1 : 0)) * line;
  std::mt19937 engine(static_cast<unsigned>(visit.phase * 100 + visit.sample));
  const auto early_lines = static_cast<std::size_t>(visit.chains - 1);
  Guarded vector(rows * row), output(rows * row), tail(row), received(messages), message(messages),
      early(messages * early_lines);
  vector.fill(engine);
  output.fill(engine);
  tail.fill(engine);
  received.fill(engine);
  early.fill(engine);

  Guarded& slots = visit.in_place ? vector : output;
  const Guarded vector_before = vector, slots_before = slots, tail_before = tail, early_before = early;
  library.run(role, {.input = vector.data(),
                     .slots = slots.data(),
                     .tail = visit.has_tail ? tail.data() : nullptr,
                     .early = early_lines > 0 ? early.data() : nullptr,
                     .received = visit.receives ? received.data() : nullptr,
                     .message = visit.sends ? message.data() : nullptr,
                     .elements = static_cast<long long>(rows * line),
                     .phase = visit.phase,
                     .sample = visit.sample,
                     .divisor = visit.divisor,
                     .vector_width = 1});
  for (const Guarded* buffer : {&vector, &output, &tail, &received, &message, &early})
    buffer->expect_guards_intact();
  if (!visit.in_place) {
    EXPECT_EQ(std::memcmp(vector.data(), vector_before.data(), rows * row * sizeof(float)), 0)
        << "input changed";
  }

  for (std::size_t w = 0; w < messages / line; ++w) {
    const bool in_tail = w == rows;
    const float* const in = in_tail ? tail_before.data() : vector_before.data() + w * row;
    const float* const before = in_tail ? tail_before.data() : slots_before.data() + w * row;
    const float* const after = in_tail ? tail.data() : slots.data() + w * row;
    for (std::size_t i = 0; i < line; ++i) {
      Element element;
      element.in_place = in_tail || visit.in_place;
      for (std::size_t k = 0; k < terms; ++k) {
        element.input.push_back(in[k * line + i]);
        element.slots.push_back(before[k * line + i]);
      }
      for (std::size_t k = 0; k < early_lines; ++k)
        element.early.push_back(early_before.data()[(w * early_lines + k) * line + i]);
      element.received = visit.receives ? received.data()[w * line + i] : 0;
      reference(element);
      const std::string where = role + " phase " + std::to_string(visit.phase) + " sample " +
                                std::to_string(visit.sample) + " row " + std::to_string(w) + " lane " +
                                std::to_string(i);
      for (std::size_t k = 0; k < terms; ++k)
        expect_close(after[k * line + i], element.slots[k], where + " slot " + std::to_string(k));
      for (std::size_t k = 0; k < early_lines; ++k)
        expect_close(early.data()[(w * early_lines + k) * line + i], element.early[k],
                     where + " early line " + std::to_string(k));
      if (visit.sends)
        expect_close(message.data()[w * line + i], element.message, where + " message");
      else
        ASSERT_TRUE(std::isnan(message.data()[w * line + i])) << where << " sends at the last visit";
    }
  }
}

}  // namespace cerar::test
