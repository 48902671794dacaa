#include "runtime/bench/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/measure/element_type.h"
#include "runtime/program/output.h"

namespace cerar::runtime {
namespace {

// What NCCL's own all-reduce sends is not known.
bool sent_is_known(const Half& half) { return !half.info.baseline; }

// NCCL's own all-reduce claims nothing; it rounds to the type at least once.
double claim_of(const Half& half, cerarDataType_t type) {
  return half.info.claimed_error > 0 ? half.info.claimed_error : rounding_rms(type);
}

nlohmann::json half_json(const Half& half, const MeasureOptions& options, double bytes, int ranks) {
  const double algbw = bytes / half.time_us / 1e3;
  nlohmann::json wirebw;
  if (sent_is_known(half)) wirebw = static_cast<double>(half.info.sent_bytes) / half.time_us / 1e3;
  return {{"time_us", half.time_us},
          {"algbw_gbs", algbw},
          {"busbw_gbs", algbw * 2 * (ranks - 1) / ranks},
          {"wirebw_gbs", wirebw},
          {"wrong", half.errors.wrong},
          {"error", half.errors.relative_rms},
          {"claimed_error", claim_of(half, options.type)},
          {"worst_rank_error", half.errors.worst_rank},
          {"between_ranks", half.errors.between_ranks}};
}

}  // namespace

nlohmann::json row_json(const MeasureOptions& options, const Half& out_of_place, const Half& in_place,
                        std::optional<double> baseline_time_us, int ranks) {
  const std::size_t size = options.count * element_bytes(options.type);
  const auto bytes = static_cast<double>(size);
  return {
      {"size", size},
      {"count", options.count},
      {"type", name_of(options.type)},
      {"redop", options.op == cerarAverage ? "average" : "sum"},
      {"variant", in_place.info.variant},
      {"components", in_place.info.components},
      {"lanes", in_place.info.lanes},
      {"sent_bytes", sent_is_known(in_place) ? nlohmann::json(in_place.info.sent_bytes) : nlohmann::json()},
      {"messages", in_place.info.messages},
      {"scratch_bytes", in_place.info.scratch_bytes},
      {"claimed_error", claim_of(in_place, options.type)},
      {"out_of_place", half_json(out_of_place, options, bytes, ranks)},
      {"in_place", half_json(in_place, options, bytes, ranks)},
      {"baseline_time_us", baseline_time_us ? nlohmann::json(*baseline_time_us) : nlohmann::json()}};
}

void print_row(const nlohmann::json& row) {
  std::string line = fmt::format("{:>12} {:>12} {:>5} {:>7} {:<20}", row["size"].get<std::uint64_t>(),
                                 row["count"].get<std::uint64_t>(), row["type"].get<std::string>(),
                                 row["redop"].get<std::string>(), row["variant"].get<std::string>());
  for (const char* half : {"out_of_place", "in_place"})
    line += fmt::format(" {:>10.1f} {:>7.2f} {:>7.2f} {:>6}", row[half]["time_us"].get<double>(),
                        row[half]["algbw_gbs"].get<double>(), row[half]["busbw_gbs"].get<double>(),
                        row[half]["wrong"].get<std::uint64_t>());
  const auto text = [](const nlohmann::json& value, fmt::format_string<double> format) {
    return value.is_null() ? "-" : fmt::format(format, value.get<double>());
  };
  program::print("{} {:>9.2e} {:>9.2e} {:>12} {:>7} {:>10}\n", line, row["in_place"]["error"].get<double>(),
                 row["claimed_error"].get<double>(), text(row["sent_bytes"], "{:.0f}"),
                 text(row["in_place"]["wirebw_gbs"], "{:.2f}"), text(row["baseline_time_us"], "{:.1f}"));
}

void print_heading(const Comparison& comparison) {
  std::string text = fmt::format("# {} ranks, transport {}\n", comparison.ranks, comparison.where);
  text +=
      fmt::format("# {:>10} {:>12} {:>5} {:>7} {:<20} {:^33} {:^33} {:>9} {:>9} {:>12} {:>7} {:>10}\n", "",
                  "", "", "", "", "out of place", "in place", "", "", "", "", comparison.baseline_name);
  text += fmt::format("# {:>10} {:>12} {:>5} {:>7} {:<20}", "size", "count", "type", "redop", "variant");
  for (int i = 0; i < 2; ++i)
    text += fmt::format(" {:>10} {:>7} {:>7} {:>6}", "time", "algbw", "busbw", "#wrong");
  text += fmt::format(" {:>9} {:>9} {:>12} {:>7} {:>10}\n", "error", "claimed", "sent", "wirebw", "time");
  text += fmt::format("# {:>10} {:>12} {:>5} {:>7} {:<20}", "B", "elements", "", "", "");
  for (int i = 0; i < 2; ++i) text += fmt::format(" {:>10} {:>7} {:>7} {:>6}", "us", "GB/s", "GB/s", "");
  text +=
      fmt::format(" {:>9} {:>9} {:>12} {:>7} {:>10}\n", "rel. rms", "rel. rms", "B per rank", "GB/s", "us");
  program::print_text(text);
}

}  // namespace cerar::runtime
