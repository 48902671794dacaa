#include "generator/plan_text.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "runtime/base/digest.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wire.h"

namespace cerar::generator {
namespace {

using runtime::name_of;
using Out = std::back_insert_iterator<std::string>;

// Double quotes are the one YAML style in which every character can be written.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      (result += '\\') += static_cast<char>(c);
    else if (c < 0x20 || c == 0x7f)
      result += fmt::format("\\x{:02x}", c);
    else
      result += static_cast<char>(c);
  }
  return result + '"';
}

std::string byte_range(std::uint64_t min, std::uint64_t max) {
  return fmt::format("{{min: {}, max: {}}}", min,
                     max == std::numeric_limits<std::uint64_t>::max() ? "unbounded" : std::to_string(max));
}

// Nested flow lists; the innermost rows stand on a line each.
template <typename Number>
void append_table(std::string& out, const char* key, const std::vector<Number>& values, std::size_t outer,
                  std::size_t middle, std::size_t inner) {
  fmt::format_to(Out(out), "    {}:\n", key);
  std::size_t at = 0;
  for (std::size_t i = 0; i < outer; ++i) {
    out += "      - ";
    if (middle > 0) out += "[";
    for (std::size_t j = 0; j < (middle ? middle : 1); ++j) {
      if (j > 0) out += ",\n         ";
      out += "[";
      for (std::size_t k = 0; k < inner; ++k)
        fmt::format_to(Out(out), "{}{}", k ? ", " : "", static_cast<double>(values[at++]));
      out += "]";
    }
    out += middle > 0 ? "]\n" : "\n";
  }
}

void append_tables(std::string& out, const runtime::Variant& variant) {
  const auto& shape = variant.shape;
  const auto workers = static_cast<std::size_t>(shape.workers), terms = static_cast<std::size_t>(shape.terms);
  if (const auto* plain = std::get_if<runtime::PlainTables>(&variant.tables)) {
    append_table(out, "beta", plain->beta, static_cast<std::size_t>(shape.chains),
                 static_cast<std::size_t>(shape.visits), terms);
    append_table(out, "decode", plain->decode, workers, terms, terms);
    if (variant.claim_out_of_place) {
      append_table(out, "decode_out_of_place", plain->decode_out_of_place, workers, terms, terms);
      append_table(out, "own_out_of_place", plain->own_out_of_place, workers, terms, terms);
    }
  } else if (const auto* differential = std::get_if<runtime::DifferentialTables>(&variant.tables)) {
    fmt::format_to(Out(out), "    epsilon: {}\n    shift: {}\n    own_exact: {}\n",
                   static_cast<double>(differential->epsilon), differential->shift, differential->own_exact);
    append_table(out, "open", differential->open, workers, 0, 3);
    append_table(out, "extend", differential->extend, workers, 0, 3);
    append_table(out, "own", differential->own, workers, 2, 2);
    append_table(out, "decode", differential->decode, workers, 3, 3);
  }
}

void append_kernels(std::string& out, const runtime::Variant& variant) {
  out += variant.kernels.empty() ? "    kernels: []\n" : "    kernels:\n";
  for (const auto& kernel : variant.kernels) {
    fmt::format_to(Out(out),
                   "      - role: {}\n        entry: {}\n        threads: {}\n        resources:{}\n",
                   kernel.role, kernel.entry, kernel.threads, kernel.resources.empty() ? " []" : "");
    for (const auto& use : kernel.resources)
      fmt::format_to(Out(out), "          - {{target: {}, registers: {}, spill_bytes: {}}}\n", use.target,
                     use.registers, use.spill_bytes);
  }
  out += variant.artefacts.empty() ? "    files: []\n" : "    files:\n";
  for (const auto& artefact : variant.artefacts)
    fmt::format_to(Out(out), "      - {{target: {}, file: {}, sha256: {}}}\n", artefact.target,
                   quoted(artefact.file), artefact.sha256);
}

void append_claim(std::string& out, const char* key, const runtime::ErrorClaim& claim) {
  fmt::format_to(
      Out(out),
      "    {}: {{condition: {}, noise_gain: {}, approximation: {}, approximation_worst: {}, noise: {}, "
      "total: {}}}\n",
      key, claim.condition, claim.noise_gain, claim.approximation, claim.approximation_worst, claim.noise,
      claim.total);
}

void append_variant(std::string& out, const runtime::Variant& variant) {
  const auto& time = variant.prediction;
  fmt::format_to(Out(out), "  - name: {}\n    bytes: {}\n", quoted(variant.name),
                 byte_range(variant.min_bytes, variant.max_bytes));
  fmt::format_to(Out(out), "    construction: {}\n    messages: {}\n", name_of(variant.construction),
                 name_of(variant.messages));
  fmt::format_to(Out(out), "    components: {}\n    classes: {}\n    terms: {}\n    rounds: {}\n",
                 variant.shape.components, variant.shape.classes, variant.shape.terms, variant.shape.rounds);
  fmt::format_to(Out(out), "    wire: {}\n", name_of(variant.wire));
  if (runtime::is_block_wire(variant.wire)) fmt::format_to(Out(out), "    block: {}\n", variant.block);
  fmt::format_to(Out(out), "    interleave: {}\n    lanes: {}\n    message_bytes: {}\n", variant.interleave,
                 variant.lanes, variant.message_bytes);
  fmt::format_to(Out(out), "    identical_on_all_ranks: {}\n", is_identical_on_all_ranks(variant));
  append_claim(out, "errors", variant.claim);
  if (variant.claim_out_of_place) append_claim(out, "errors_out_of_place", *variant.claim_out_of_place);
  fmt::format_to(
      Out(out),
      "    predicted: {{fixed_us: {}, us_per_mib: {}, baseline_fixed_us: {}, baseline_us_per_mib: {}}}\n",
      time.fixed_us, time.us_per_mib, time.baseline_fixed_us, time.baseline_us_per_mib);
  append_tables(out, variant);
  append_kernels(out, variant);
}

}  // namespace

std::string plan_text(const runtime::Plan& plan) {
  std::string out =
      "# Written by cerar-tune; do not edit: the digest in the last line covers every byte before it.\n";
  fmt::format_to(Out(out), "format: {}\ngenerator: {}\n", runtime::kPlanFormat, quoted(plan.generator));
  fmt::format_to(Out(out), "topology: {}\nfingerprint: {}\nreason: {}\n", quoted(plan.topology),
                 quoted(plan.fingerprint), quoted(plan.reason));
  fmt::format_to(Out(out), "workers: {}\ndata_type: {}\nmax_error: {}\nbaseline: {}\n", plan.workers,
                 name_of(plan.data_type), plan.max_error, quoted(plan.baseline));
  out += plan.baseline_faster.empty() ? "baseline_faster: []\n" : "baseline_faster:\n";
  for (const auto& range : plan.baseline_faster)
    fmt::format_to(Out(out), "  - {}\n", byte_range(range.min_bytes, range.max_bytes));
  fmt::format_to(Out(out), "host_target: {}\n", quoted(plan.host_target));
  if (!plan.nvrtc.empty()) fmt::format_to(Out(out), "nvrtc: {}\n", quoted(plan.nvrtc));
  out += "variants:\n";
  for (const auto& variant : plan.variants) append_variant(out, variant);
  out += runtime::kDigestKey + sha256_hex(out) + "\n";
  return out;
}

}  // namespace cerar::generator
