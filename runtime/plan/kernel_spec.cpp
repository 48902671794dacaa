#include "runtime/plan/kernel_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/plan/names.h"
#include "runtime/plan/wire.h"

namespace cerar::runtime {
namespace {

std::string prefix_of(std::string_view name) {
  std::string prefix(name);
  for (char& c : prefix) {
    const bool keeps = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!keeps) c = '_';
  }
  return prefix;
}

class TableReader {
 public:
  explicit TableReader(const runtime::Variant& variant) : variant_(variant) {}

  FloatTable table(std::string_view name, const std::vector<float>& values,
                   std::vector<int> dimensions) const {
    require_size(name, values.size(), dimensions);
    return {std::move(dimensions), values};
  }

  void require_size(std::string_view name, std::size_t found, const std::vector<int>& dimensions) const {
    std::size_t expected = 1;
    for (const int dimension : dimensions) expected *= static_cast<std::size_t>(dimension);
    if (found != expected)
      throw Error(
          ErrorCode::invalid_plan,
          fmt::format("table {} of variant {} holds {} numbers, but its shape needs {}; design it again.",
                      name, variant_.name, found, expected));
  }

 private:
  const runtime::Variant& variant_;
};

FloatTable encode_table(const runtime::Shape& shape, const std::vector<double>& beta) {
  FloatTable table{{shape.workers, shape.terms + shape.chains, shape.terms}, {}};
  const auto terms = static_cast<std::size_t>(shape.terms);
  const auto beta_at = [&](int chain, int visit, std::size_t k) {
    const auto row = static_cast<std::size_t>(chain) * static_cast<std::size_t>(shape.visits) +
                     static_cast<std::size_t>(visit - 1);
    return visit <= 0 ? 0.0 : beta[row * terms + k];
  };
  for (int phase = 0; phase < shape.workers; ++phase) {
    const int visits = runtime::visit_count(shape, phase);
    for (int number = 0; number < shape.terms + shape.chains; ++number) {
      const int now = runtime::visit_time(shape, phase, number), chain = runtime::chain_at(shape, phase, now);
      for (std::size_t k = 0; k < terms; ++k) {
        const double increment =
            number < visits ? beta_at(chain, now, k) - beta_at(chain, now - shape.workers, k) : 0.0;
        table.values.push_back(static_cast<float>(increment));
      }
    }
  }
  return table;
}

// Ranks that hold equal vectors add the same amount to the same message, and round it the same way at every
// hop: their errors add up instead of averaging out (measured: 1.4 times the noise claimed at N = 8, 2.2 at N
// = 16). So each phase but 0 adds a small, different fraction of the message before it rounds. The fractions
// are evenly spaced over one unit in the last place of the largest significand (two of the smallest) and sum
// to zero, so that a revolution leaves nothing of them. Other messages are dithered where they are converted
// (templates/wire/dither.h).
FloatTable dither_table(const runtime::Variant& variant, bool approximate) {
  constexpr int kSignificand = 24;
  const int workers = variant.shape.workers;
  std::vector<int>
      order;  // phases 1..N-1, by their position in a golden-ratio sequence: partial sums stay small
  for (int phase = 1; phase < workers; ++phase) order.push_back(phase);
  std::sort(order.begin(), order.end(), [](int a, int b) {
    const auto position = [](int phase) { return std::fmod(phase * std::numbers::phi, 1.0); };
    return position(a) < position(b);
  });
  FloatTable table{{workers}, std::vector<float>(static_cast<std::size_t>(workers), 0.0f)};
  if (!approximate || variant.wire != runtime::Wire::f32) return table;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double spread = (static_cast<double>(i) + 0.5) / static_cast<double>(order.size()) - 0.5;
    table.values[static_cast<std::size_t>(order[i])] =
        static_cast<float>(std::ldexp(spread, 1 - kSignificand));
  }
  return table;
}

void add_plain(KernelSpec& spec, const runtime::Variant& variant, const runtime::PlainTables& tables) {
  const runtime::Shape& shape = variant.shape;
  if (shape.terms > kMostPlainTerms)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("variant {} mixes {} components in a class, for which there are no kernels; choose "
                    "components with at most {} for each class of gcd(c, N).",
                    variant.name, shape.terms, kMostPlainTerms));
  const TableReader reader(variant);
  const std::vector<int> dimensions = {shape.workers, shape.terms, shape.terms};
  reader.require_size("beta", tables.beta.size(), {shape.chains, shape.visits, shape.terms});
  spec.parameters["kWorkers"] = shape.workers;
  spec.parameters["kTerms"] = shape.terms;
  spec.parameters["kChains"] = shape.chains;
  spec.parameters["kDither"] = dither_table(variant, shape.components > shape.workers);
  spec.parameters["kEncode"] = encode_table(shape, tables.beta);
  spec.parameters["kDecode"] = reader.table("decode", tables.decode, dimensions);
  const bool own_exact = !tables.decode_out_of_place.empty();
  const FloatTable none{{1, 1, 1}, {0.0f}};
  spec.parameters["kOwnExact"] = own_exact;
  spec.parameters["kDecodeOutOfPlace"] =
      own_exact ? reader.table("decode_out_of_place", tables.decode_out_of_place, dimensions) : none;
  spec.parameters["kOwnOutOfPlace"] =
      own_exact ? reader.table("own_out_of_place", tables.own_out_of_place, dimensions) : none;
}

void add_differential(KernelSpec& spec, const runtime::Variant& variant,
                      const runtime::DifferentialTables& tables) {
  if (!(tables.epsilon > 0) || !std::isfinite(1.0 / tables.epsilon))
    throw Error(ErrorCode::invalid_plan,
                fmt::format("epsilon of variant {} is {}; differential messages need a positive drift.",
                            variant.name, tables.epsilon));
  const TableReader reader(variant);
  const int workers = variant.shape.workers;
  spec.parameters["kWorkers"] = workers;
  spec.parameters["kTerms"] = variant.shape.terms;
  spec.parameters["kOwnExact"] = tables.own_exact;
  spec.parameters["kInverseEpsilon"] = static_cast<float>(1.0 / static_cast<double>(tables.epsilon));
  spec.parameters["kDither"] = dither_table(variant, true);
  spec.parameters["kOpen"] = reader.table("open", tables.open, {workers, 3});
  spec.parameters["kExtend"] = reader.table("extend", tables.extend, {workers, 3});
  spec.parameters["kOwn"] = reader.table("own", tables.own, {workers, 2, 2});
  spec.parameters["kDecode"] = reader.table("decode", tables.decode, {workers, 3, 3});
}

constexpr std::string_view kMark = "cerar-kernels ";

// Numbers as their bits: the same text on every machine.
void append(std::string& text, bool value) { text += value ? " true" : " false"; }
void append(std::string& text, int value) { text += fmt::format(" {}", value); }
void append(std::string& text, float value) {
  text += fmt::format(" {:08x}", std::bit_cast<std::uint32_t>(value));
}
void append(std::string& text, const FloatTable& table) {
  for (const int dimension : table.dimensions) text += fmt::format("[{}]", dimension);
  for (const float value : table.values) append(text, value);
}

}  // namespace

KernelSpec make_kernel_spec(const runtime::Variant& variant) {
  KernelSpec spec{.family = "sum",
                  .wire = std::string(runtime::name_of(variant.wire)),
                  .block = runtime::is_block_wire(variant.wire) ? variant.block : 0,
                  .prefix = prefix_of(variant.name),
                  .parameters = {}};
  spec.parameters["kInterleave"] = variant.interleave;
  if (const auto* plain = std::get_if<runtime::PlainTables>(&variant.tables)) {
    spec.family = "plain";
    add_plain(spec, variant, *plain);
  } else if (const auto* differential = std::get_if<runtime::DifferentialTables>(&variant.tables)) {
    spec.family = "differential";
    add_differential(spec, variant, *differential);
  }
  return spec;
}

std::string kernel_mark(const Variant& variant) {
  const KernelSpec spec = make_kernel_spec(variant);
  std::string text =
      fmt::format("workers {} components {} messages {}\nfamily {} wire {} block {}\n", variant.shape.workers,
                  variant.shape.components, name_of(variant.messages), spec.family, spec.wire, spec.block);
  for (const Kernel& kernel : variant.kernels)
    text += fmt::format("kernel {} {}\n", kernel.role, kernel.entry);
  for (const auto& [name, value] : spec.parameters) {
    text += name;
    std::visit([&](const auto& of_a_type) { append(text, of_a_type); }, value);
    text += '\n';
  }
  return std::string(kMark) + sha256_hex(text);
}

std::optional<std::string> mark_problem(const Variant& variant, std::string_view bytes) {
  if (bytes.find(kernel_mark(variant)) != std::string_view::npos) return std::nullopt;
  return bytes.find(kMark) != std::string_view::npos ? "holds kernels for another code than plan.yaml "
                                                       "describes (components, wire, interleave, tables or "
                                                       "kernels differ)"
                                                     : "does not say what its kernels were made for";
}

}  // namespace cerar::runtime
