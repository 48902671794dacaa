#include "runtime/base/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "runtime/base/error.h"
#include "runtime/base/one_line.h"

namespace cerar {

struct YamlReader::Node {
  YAML::Node yaml;
  std::string file;
  std::string path;
};

namespace {

// Files bring in control characters, even NUL: what() would end there.
[[noreturn]] void refuse(const std::string& file, const YAML::Mark& mark, const std::string& problem) {
  const int line = std::max(mark.line, 0) + 1;  // yaml-cpp's mark of a node without text is -1
  throw Error(ErrorCode::invalid_plan, one_line(fmt::format("{}:{}: {}.", file, line, problem)));
}

// yaml-cpp keeps the last of two equal keys silently and recurses without limit; both are refused here first.
// `budget` is the number of nodes that the text can hold: only aliases make a tree of more, and without
// limit.
void check_tree(const YAML::Node& node, const std::string& file, int depth, std::size_t& budget) {
  if (depth > 32) refuse(file, node.Mark(), "nested deeper than 32 levels; this is not a CERAR file");
  if (budget-- == 0)
    refuse(file, node.Mark(), "aliases repeat more than the file holds; write their values out");
  std::set<std::string> seen;
  if (node.IsMap()) {
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) refuse(file, entry.first.Mark(), "a key is not a plain word");
      const std::string& key = entry.first.Scalar();
      if (!seen.insert(key).second)
        refuse(file, entry.first.Mark(), fmt::format("the key {} stands twice; keep one of them", key));
      check_tree(entry.second, file, depth + 1, budget);
    }
  } else if (node.IsSequence()) {
    for (const auto& item : node) check_tree(item, file, depth + 1, budget);
  }
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

YamlReader YamlReader::parse(const std::string& text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      refuse(file, documents[1].Mark(),
             fmt::format("a second document begins, of {}; keep one of them", documents.size()));
    const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
    std::size_t budget = text.size() + 1;
    check_tree(root, file, 0, budget);
    return YamlReader(std::make_shared<Node>(Node{root, file, ""}));
  } catch (const YAML::Exception& error) {
    refuse(file, error.mark, "malformed YAML: " + error.msg);
  }
}

std::optional<YamlReader> YamlReader::find(std::string_view key) const {
  if (!node_->yaml.IsMap()) fail("is not a map of keys");
  const YAML::Node child = node_->yaml[std::string(key)];
  if (!child.IsDefined()) return std::nullopt;
  const std::string path = node_->path.empty() ? std::string(key) : node_->path + "." + std::string(key);
  return YamlReader(std::make_shared<Node>(Node{child, node_->file, path}));
}

YamlReader YamlReader::at(std::string_view key) const {
  if (auto child = find(key)) return *child;
  fail(fmt::format("lacks the key {}", key));
}

std::vector<YamlReader> YamlReader::items() const {
  if (!node_->yaml.IsSequence()) fail("is not a list");
  std::vector<YamlReader> items;
  for (std::size_t i = 0; i < node_->yaml.size(); ++i)
    items.push_back(YamlReader(
        std::make_shared<Node>(Node{node_->yaml[i], node_->file, fmt::format("{}[{}]", node_->path, i)})));
  return items;
}

void YamlReader::allow_only(std::initializer_list<std::string_view> keys) const {
  if (!node_->yaml.IsMap()) fail("is not a map of keys");
  for (const auto& entry : node_->yaml) {
    const std::string& key = entry.first.Scalar();
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(node_->file, entry.first.Mark(),
             fmt::format("the key {} is not known here; known are {}", key, fmt::join(keys, ", ")));
  }
}

std::string YamlReader::text() const {
  if (!node_->yaml.IsScalar()) fail("is not a single value");
  return node_->yaml.Scalar();
}

bool YamlReader::boolean() const {
  const std::string value = text();
  if (value == "true") return true;
  if (value == "false") return false;
  fail(fmt::format("is '{}' but must be true or false", value));
}

std::int64_t YamlReader::integer(std::int64_t min, std::int64_t max) const {
  const std::string value = text();
  const auto number = parse_number<std::int64_t>(value);
  if (!number) fail(fmt::format("is '{}' but must be a whole number", value));
  if (*number < min || *number > max) fail(fmt::format("is {} but must lie in {}..{}", *number, min, max));
  return *number;
}

double YamlReader::number() const {
  const std::string value = text();
  const auto number = parse_number<double>(value);
  if (!number || !std::isfinite(*number)) fail(fmt::format("is '{}' but must be a finite number", value));
  return *number;
}

double YamlReader::number(double min, double max) const {
  const double value = number();
  if (value < min || value > max) fail(fmt::format("is {} but must lie in {}..{}", value, min, max));
  return value;
}

std::vector<double> YamlReader::table(std::initializer_list<std::size_t> dimensions) const {
  std::vector<double> values;
  append_table(dimensions.begin(), dimensions.end(), values);
  return values;
}

void YamlReader::append_table(const std::size_t* dimension, const std::size_t* end,
                              std::vector<double>& out) const {
  if (dimension == end) {
    out.push_back(number());
    return;
  }
  const auto rows = items();
  if (rows.size() != *dimension)
    fail(fmt::format("has {} entries but must have {}", rows.size(), *dimension));
  for (const auto& row : rows) row.append_table(dimension + 1, end, out);
}

void YamlReader::fail(const std::string& problem) const {
  refuse(node_->file, node_->yaml.Mark(),
         fmt::format("{} {}", node_->path.empty() ? "the document" : node_->path, problem));
}

}  // namespace cerar
