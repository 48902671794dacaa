#include "runtime/plan/plan_file.h"

#include <fmt/format.h>

#include <sstream>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/yaml_reader.h"
#include "runtime/plan/names.h"
#include "runtime/plan/plan_directory.h"
#include "runtime/plan/wire.h"

namespace cerar::runtime {
namespace {

constexpr int kMaxWorkers = 4096;
constexpr int kMaxComponents = 1 << 20;

template <typename Enum>
Enum read_word(const YamlReader& field) {
  Enum value{};
  const std::string word = field.text();
  if (!from_name(word, value)) field.fail(fmt::format("is '{}'; known are {}", word, known_names<Enum>()));
  return value;
}

std::vector<float> to_floats(const YamlReader& field, const std::vector<double>& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (double value : values) {
    floats.push_back(static_cast<float>(value));
    if (static_cast<double>(floats.back()) != value) field.fail("holds a number that is not exactly an f32");
  }
  return floats;
}

std::vector<float> read_floats(const YamlReader& field, std::initializer_list<std::size_t> dimensions) {
  return to_floats(field, field.table(dimensions));
}

ByteRange read_range(const YamlReader& node) {
  node.allow_only({"min", "max"});
  ByteRange range{.min_bytes = static_cast<std::uint64_t>(node.at("min").integer(0, INT64_MAX))};
  if (node.at("max").text() != "unbounded")
    range.max_bytes = static_cast<std::uint64_t>(node.at("max").integer(0, INT64_MAX));
  return range;
}

ErrorClaim read_claim(const YamlReader& node) {
  node.allow_only({"condition", "noise_gain", "approximation", "approximation_worst", "noise", "total"});
  return {.condition = node.at("condition").number(1, 1e300),
          .noise_gain = node.at("noise_gain").number(0, 1e300),
          .approximation = node.at("approximation").number(0, 1e300),
          .approximation_worst = node.at("approximation_worst").number(0, 1e300),
          .noise = node.at("noise").number(0, 1e300),
          .total = node.at("total").number(0, 1e300)};
}

Prediction read_prediction(const YamlReader& node) {
  node.allow_only({"fixed_us", "us_per_mib", "baseline_fixed_us", "baseline_us_per_mib"});
  return {.fixed_us = node.at("fixed_us").number(0, 1e300),
          .us_per_mib = node.at("us_per_mib").number(0, 1e300),
          .baseline_fixed_us = node.at("baseline_fixed_us").number(0, 1e300),
          .baseline_us_per_mib = node.at("baseline_us_per_mib").number(0, 1e300)};
}

// One of them asks for the others.
bool has_out_of_place(const YamlReader& node) {
  return node.find("errors_out_of_place") || node.find("decode_out_of_place") ||
         node.find("own_out_of_place");
}

Tables read_tables(const YamlReader& node, const Shape& shape, Messages messages) {
  const auto workers = static_cast<std::size_t>(shape.workers), terms = static_cast<std::size_t>(shape.terms);
  if (messages == Messages::sum) return SumTables{};
  if (messages == Messages::plain) {
    const auto chains = static_cast<std::size_t>(shape.chains),
               visits = static_cast<std::size_t>(shape.visits);
    PlainTables tables{.beta = node.at("beta").table({chains, visits, terms}),
                       .decode = read_floats(node.at("decode"), {workers, terms, terms}),
                       .decode_out_of_place = {},
                       .own_out_of_place = {}};
    if (has_out_of_place(node)) {
      tables.decode_out_of_place = read_floats(node.at("decode_out_of_place"), {workers, terms, terms});
      tables.own_out_of_place = read_floats(node.at("own_out_of_place"), {workers, terms, terms});
    }
    return tables;
  }
  return DifferentialTables{
      .epsilon = to_floats(node.at("epsilon"), {node.at("epsilon").number(1e-30, 1)})[0],
      .shift = node.at("shift").number(0, 1),
      .own_exact = node.at("own_exact").boolean(),
      .open = read_floats(node.at("open"), {workers, 3}),
      .extend = read_floats(node.at("extend"), {workers, 3}),
      .own = read_floats(node.at("own"), {workers, 2, 2}),
      .decode = read_floats(node.at("decode"), {workers, 3, 3})};
}

// Tables that the kernels of these messages would ignore.
void refuse_other_tables(const YamlReader& node, Messages messages) {
  static constexpr struct {
    const char* key;
    bool plain, differential;
  } kTables[] = {{"beta", true, false},
                 {"decode", true, true},
                 {"epsilon", false, true},
                 {"shift", false, true},
                 {"own_exact", false, true},
                 {"open", false, true},
                 {"extend", false, true},
                 {"own", false, true},
                 {"errors_out_of_place", true, false},
                 {"decode_out_of_place", true, false},
                 {"own_out_of_place", true, false}};
  for (const auto& table : kTables)
    if (!(messages == Messages::plain && table.plain) &&
        !(messages == Messages::differential && table.differential))
      if (const auto field = node.find(table.key))
        field->fail(fmt::format("does not belong to {} messages; run cerar-tune again", name_of(messages)));
}

std::vector<Kernel> read_kernels(const YamlReader& node) {
  std::vector<Kernel> kernels;
  for (const auto& item : node.items()) {
    item.allow_only({"role", "entry", "threads", "resources"});
    Kernel kernel{.role = item.at("role").text(),
                  .entry = item.at("entry").text(),
                  .threads = static_cast<int>(item.at("threads").integer(32, 1024)),
                  .resources = {}};
    if (kernel.threads % 32 != 0)
      item.at("threads").fail(fmt::format("is {} but must be a multiple of 32, a warp", kernel.threads));
    for (const auto& use : item.at("resources").items()) {
      use.allow_only({"target", "registers", "spill_bytes"});
      kernel.resources.push_back(
          {.target = use.at("target").text(),
           .registers = static_cast<int>(use.at("registers").integer(0, 1024)),
           .spill_bytes = static_cast<int>(use.at("spill_bytes").integer(0, 1 << 30))});
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<Artefact> read_artefacts(const YamlReader& node) {
  std::vector<Artefact> artefacts;
  for (const auto& item : node.items()) {
    item.allow_only({"target", "file", "sha256"});
    const std::string file = item.at("file").text();
    if (std::filesystem::path(file).is_absolute() || file.find("..") != std::string::npos)
      item.at("file").fail(fmt::format("is '{}' but must lie inside the plan directory", file));
    artefacts.push_back(
        {.target = item.at("target").text(), .file = file, .sha256 = item.at("sha256").text()});
  }
  return artefacts;
}

Variant read_variant(const YamlReader& node, int workers) {
  node.allow_only({"name",
                   "bytes",
                   "construction",
                   "messages",
                   "components",
                   "classes",
                   "terms",
                   "rounds",
                   "message_bytes",
                   "wire",
                   "interleave",
                   "lanes",
                   "errors",
                   "predicted",
                   "beta",
                   "decode",
                   "epsilon",
                   "shift",
                   "own_exact",
                   "open",
                   "extend",
                   "own",
                   "kernels",
                   "files",
                   "block",
                   "errors_out_of_place",
                   "decode_out_of_place",
                   "own_out_of_place",
                   "identical_on_all_ranks"});
  Variant variant;
  variant.name = node.at("name").text();
  const ByteRange bytes = read_range(node.at("bytes"));
  variant.min_bytes = bytes.min_bytes;
  variant.max_bytes = bytes.max_bytes;
  variant.construction = read_word<Construction>(node.at("construction"));
  variant.messages = read_word<Messages>(node.at("messages"));
  variant.shape = make_shape(workers, static_cast<int>(node.at("components").integer(1, kMaxComponents)));
  const auto expect = [&](const char* key, int value) {
    if (node.at(key).integer(0, INT32_MAX) != value)
      node.at(key).fail(fmt::format("is {} but {} components on {} workers make it {}", node.at(key).text(),
                                    variant.shape.components, workers, value));
  };
  expect("classes", variant.shape.classes);
  expect("terms", variant.shape.terms);
  expect("rounds", variant.shape.rounds);
  variant.wire = read_word<Wire>(node.at("wire"));
  if (is_block_wire(variant.wire))
    variant.block = static_cast<int>(node.at("block").integer(1, 1 << 16));
  else if (const auto block = node.find("block"))
    block->fail(
        fmt::format("does not belong to messages of {}; run cerar-tune again", name_of(variant.wire)));
  variant.interleave = static_cast<int>(node.at("interleave").integer(4, 1 << 16));
  variant.lanes = static_cast<int>(node.at("lanes").integer(1, 1024));
  variant.message_bytes =
      static_cast<std::uint64_t>(node.at("message_bytes").integer(64, std::int64_t{1} << 40));
  variant.claim = read_claim(node.at("errors"));
  node.at("identical_on_all_ranks").boolean();  // compared when the rest is known to fit together
  variant.prediction = read_prediction(node.at("predicted"));
  refuse_other_tables(node, variant.messages);
  if (has_out_of_place(node)) variant.claim_out_of_place = read_claim(node.at("errors_out_of_place"));
  variant.tables = read_tables(node, variant.shape, variant.messages);
  variant.growth = growth_of(variant.shape, variant.tables);
  variant.kernels = read_kernels(node.at("kernels"));
  variant.artefacts = read_artefacts(node.at("files"));
  return variant;
}

// It follows from the code; a reader of the file must not be told otherwise.
void check_identical(const YamlReader& node, const Variant& variant) {
  const YamlReader identical = node.at("identical_on_all_ranks");
  if (identical.boolean() == is_identical_on_all_ranks(variant)) return;
  identical.fail(fmt::format("is {} but {} with {} components on {} workers in messages of {} makes it {}",
                             identical.text(), name_of(variant.construction), variant.shape.components,
                             variant.shape.workers, name_of(variant.wire),
                             is_identical_on_all_ranks(variant)));
}

std::optional<std::size_t> digest_line(const std::string& text) {
  const auto line = text.rfind(std::string("\n") + kDigestKey);
  if (line == std::string::npos) return std::nullopt;
  return line + 1;
}

std::string recorded_digest(const std::string& text) {
  const auto line = digest_line(text);
  if (!line) return "";
  std::string digest = text.substr(*line + sizeof(kDigestKey) - 1);
  while (!digest.empty() && (digest.back() == '\n' || digest.back() == '\r')) digest.pop_back();
  return digest;
}

std::string other_format(std::string_view format) {
  return fmt::format("is '{}' but this runtime reads {}; use the cerar-tune of this version", format,
                     kPlanFormat);
}

// The version comes first: a newer format may well differ in everything else. Only its own line is looked at,
// near the top where it is written: nothing may be made of a text before its digest is known to fit.
void refuse_other_format(const std::string& text, const std::string& file) {
  constexpr std::string_view kKey = "format: ";
  std::istringstream lines(text.substr(0, 1024));
  int number = 0;
  for (std::string line; ++number, std::getline(lines, line);)
    if (line.starts_with(kKey) && !lines.eof() && line.substr(kKey.size()) != kPlanFormat)
      throw Error(ErrorCode::invalid_plan, one_line(fmt::format("{}:{}: format {}.", file, number,
                                                                other_format(line.substr(kKey.size())))));
}

}  // namespace

std::optional<std::string> digest_problem(const std::string& text, const std::string& file) {
  const auto line = digest_line(text);
  if (!line)
    return fmt::format(
        "{}: the key digest is missing, the file is truncated or not a plan; run cerar-tune again.", file);
  if (recorded_digest(text) != sha256_hex(std::string_view(text).substr(0, *line)))
    return fmt::format("{}: the content does not match its digest, it was altered; run cerar-tune again.",
                       file);
  return std::nullopt;
}

Plan parse_plan(const std::string& text, const std::string& file, Digest digest) {
  refuse_other_format(text, file);
  if (digest == Digest::required)
    if (const auto problem = digest_problem(text, file)) throw Error(ErrorCode::invalid_plan, *problem);
  const YamlReader root = YamlReader::parse(text, file);
  if (const YamlReader format = root.at("format"); format.text() != kPlanFormat)
    format.fail(other_format(format.text()));
  Plan plan;
  plan.digest = recorded_digest(text);
  root.allow_only({"format", "generator", "topology", "fingerprint", "reason", "workers", "data_type",
                   "max_error", "baseline", "baseline_faster", "host_target", "nvrtc", "variants", "digest"});
  plan.generator = root.at("generator").text();
  plan.topology = root.at("topology").text();
  plan.fingerprint = root.at("fingerprint").text();
  plan.reason = root.at("reason").text();
  plan.workers = static_cast<int>(root.at("workers").integer(1, kMaxWorkers));
  plan.data_type = read_word<DataType>(root.at("data_type"));
  plan.max_error = root.at("max_error").number(0, 1e300);
  plan.baseline = root.at("baseline").text();
  for (const auto& item : root.at("baseline_faster").items())
    plan.baseline_faster.push_back(read_range(item));
  plan.host_target = root.at("host_target").text();
  if (const auto nvrtc = root.find("nvrtc")) plan.nvrtc = nvrtc->text();
  for (const auto& item : root.at("variants").items())
    plan.variants.push_back(read_variant(item, plan.workers));
  try {
    check_plan(plan);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", file, error.what()));
  }
  auto variant = plan.variants.begin();
  for (const auto& item : root.at("variants").items()) check_identical(item, *variant++);
  return plan;
}

Plan load_plan(const std::filesystem::path& directory, Artefacts artefacts) {
  if (artefacts == Artefacts::all) return *load_plan_directory(directory).plan;
  return read_plan_directory(directory, [](const PlanDirectory& opened) {
    return parse_plan(opened.text(), opened.plan_file().string());
  });
}

}  // namespace cerar::runtime
