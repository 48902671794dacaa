#include "tuner/topology/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/yaml_reader.h"

namespace cerar::tuner {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;  // of a file
constexpr double kMaxGigabytes = 1e6, kMaxMicroseconds = 1e9;

/// Reports print it.
std::string read_line(const YamlReader& node) {
  const std::string text = node.text();
  if (one_line(text) != text)
    node.fail(fmt::format("is '{}' but must be one line without control characters", text));
  return text;
}

/// Plans are written to a directory that is called so.
std::string read_name(const YamlReader& node) {
  constexpr std::size_t kLongest = 100;
  const std::string text = read_line(node);
  if (text.empty()) node.fail("is empty");
  if (text.size() > kLongest || text.front() == '.' || text.front() == '-' ||
      text.find('/') != std::string::npos)
    node.fail(fmt::format(
        "is '{}' but must be a file name: at most {} bytes, without '/', and neither '.' nor '-' first",
        text.substr(0, kLongest), kLongest));
  return text;
}

Baseline read_baseline(const YamlReader& node) {
  node.allow_only({"name", "base_us", "hop_us", "bandwidth_gbs"});
  return {.name = read_line(node.at("name")),
          .base_us = node.at("base_us").number(0, kMaxMicroseconds),
          .hop_us = node.at("hop_us").number(0, kMaxMicroseconds),
          .bandwidth_gbs = node.at("bandwidth_gbs").number(1e-6, kMaxGigabytes)};
}

// "sm_" and digits with an optional letter, as NVRTC spells them, or "compute_" and digits for PTX; whether
// NVRTC knows it is found out by the compiler.
std::string read_architecture(const YamlReader& node) {
  const std::string text = node.text();
  const std::size_t digits = text.starts_with("compute_") ? 8 : 3;
  const bool good = text.size() > digits && (digits == 8 || text.starts_with("sm_")) &&
                    text.find_first_not_of("0123456789af", digits) == std::string::npos;
  if (!good) node.fail(fmt::format("is '{}' but must look like sm_80", text));
  return text;
}

}  // namespace

std::vector<std::string> topology_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : builtin_topologies()) names.emplace_back(name);
  return names;
}

Topology load_topology(const std::string& name_or_file) {
  for (const auto& [name, text] : builtin_topologies())
    if (name == name_or_file)
      return parse_topology(std::string(text), fmt::format("configs/topologies/{}.yaml", name));
  std::error_code failure;  // of files that may be there; reading says why they cannot be read
  if (!std::filesystem::exists(name_or_file, failure) && !failure)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("topology '{}' is neither known nor a file; known are {}.", name_or_file,
                            fmt::join(topology_names(), ", ")));
  return parse_topology(read_file(name_or_file, kMostBytes), name_or_file);
}

Topology parse_topology(const std::string& text, const std::string& file) {
  const YamlReader root = YamlReader::parse(text, file);
  root.allow_only(
      {"name", "title", "workers", "link", "memory", "lanes", "message_bytes", "baseline", "architectures"});
  Topology topology;
  topology.name = read_name(root.at("name"));
  topology.title = read_line(root.at("title"));
  topology.workers = static_cast<int>(root.at("workers").integer(1, 4096));
  const YamlReader link = root.at("link"), memory = root.at("memory");
  link.allow_only({"latency_us", "bandwidth_gbs"});
  memory.allow_only({"bandwidth_gbs"});
  topology.latency_us = link.at("latency_us").number(0, kMaxMicroseconds);
  topology.bandwidth_gbs = link.at("bandwidth_gbs").number(1e-6, kMaxGigabytes);
  topology.memory_bandwidth_gbs = memory.at("bandwidth_gbs").number(1e-6, kMaxGigabytes);
  if (const auto architectures = root.find("architectures"))
    for (const auto& item : architectures->items()) topology.architectures.push_back(read_architecture(item));
  const Pieces pieces = topology.architectures.empty()
                            ? choose_pieces(topology.latency_us, topology.bandwidth_gbs)
                            : choose_device_pieces();
  topology.lanes = pieces.lanes;
  topology.message_bytes = pieces.message_bytes;
  if (const auto lanes = root.find("lanes")) topology.lanes = static_cast<int>(lanes->integer(1, 1024));
  if (const auto bytes = root.find("message_bytes"))
    topology.message_bytes = static_cast<std::uint64_t>(bytes->integer(64, std::int64_t{1} << 40));
  if (const auto baseline = root.find("baseline")) topology.baseline = read_baseline(*baseline);
  // A collective cannot beat the link it runs on; such a file would make every comparison with it wrong.
  if (topology.baseline && topology.baseline->bandwidth_gbs > 1.05 * topology.bandwidth_gbs)
    root.at("baseline")
        .at("bandwidth_gbs")
        .fail(fmt::format("is {} but link.bandwidth_gbs is {}; the baseline runs over the same link",
                          topology.baseline->bandwidth_gbs, topology.bandwidth_gbs));
  topology.fingerprint = sha256_hex(text);
  return topology;
}

Pieces choose_pieces(double latency_us, double bandwidth_gbs) {
  constexpr int kLanes = 4;
  constexpr double kMargin = 2, kMost = 4194304;
  constexpr double kMessageUs = 30, kShare = 32;  // what a message costs, and how much longer it should last
  const double bytes_per_us = bandwidth_gbs * 1e3;
  const double least = std::clamp(kShare * kMessageUs * bytes_per_us, 65536.0, 131072.0);
  const double message = std::clamp(kMargin * bytes_per_us * latency_us / (kLanes - 1), least, kMost);
  return {.lanes = kLanes, .message_bytes = std::bit_ceil(static_cast<std::uint64_t>(message))};
}

Pieces choose_device_pieces() { return {.lanes = 2, .message_bytes = 4194304}; }

}  // namespace cerar::tuner
