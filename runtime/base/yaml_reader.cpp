#include "runtime/base/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "runtime/base/error.h"

namespace cerar {

namespace {

constexpr std::size_t kMostLevels = 32;

enum class Kind { null, scalar, sequence, map };

struct Entry {
  Kind kind;
  int line;
  std::string text = {};
  std::vector<std::uint32_t> children = {};  ///< of maps: key, value, key, value, ...
  std::size_t nodes = 1;                     ///< below and with it, what aliases repeat counted as often
  std::size_t levels = 0;                    ///< below it
};

// Files bring in control characters, even NUL: what() would end there.
[[noreturn]] void refuse(const std::string& file, int line, const std::string& problem) {
  throw Error(ErrorCode::invalid_plan, one_line(fmt::format("{}:{}: {}.", file, line, problem)));
}

// yaml-cpp's mark of a node without text is -1.
int line_of(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }

}  // namespace

/// What the parser's events told, the root first.
struct YamlReader::Document {
  std::string file;
  std::vector<Entry> entries = {};
};

struct YamlReader::Node {
  std::shared_ptr<const Document> document;
  std::uint32_t at;
  std::string path;

  const Entry& entry() const { return document->entries[at]; }
};

/// Builds a document while the parser reads, so that what has no end is refused before it is held: yaml-cpp
/// recurses, keeps the last of two equal keys silently, and ignores a second document.
class YamlReader::Builder final : public YAML::EventHandler {
 public:
  /// The text can hold so many nodes: only aliases make a tree of more, and without limit.
  Builder(Document& document, std::size_t most_nodes) : document_(document), most_nodes_(most_nodes) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!document_.entries.empty())
      refuse(document_.file, line_of(mark), "a second document begins here; keep one of them");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(Kind::null, mark, anchor, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    leaf(Kind::scalar, mark, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::map, mark, anchor);
  }
  void OnMapEnd() override {
    check_keys(document_.entries[open_.back().at]);
    close();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(document_.file, line_of(mark), "an alias stands within what it repeats");
    check_levels(mark, document_.entries[found->second].levels);
    attach(found->second);
  }

 private:
  struct Open {
    std::uint32_t at;
    YAML::anchor_t anchor;
  };

  std::uint32_t add(Kind kind, const YAML::Mark& mark) {
    const auto at = static_cast<std::uint32_t>(document_.entries.size());
    document_.entries.push_back({.kind = kind, .line = line_of(mark)});
    return at;
  }
  void leaf(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    const std::uint32_t at = add(kind, mark);
    document_.entries[at].text = text;
    if (anchor) anchors_[anchor] = at;
    attach(at);
  }
  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    check_levels(mark, 1);
    open_.push_back({add(kind, mark), anchor});
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor) anchors_[closed.anchor] = closed.at;
    attach(closed.at);
  }
  void attach(std::uint32_t at) {
    if (open_.empty()) return;
    const Entry& child = document_.entries[at];
    Entry& parent = document_.entries[open_.back().at];
    parent.children.push_back(at);
    parent.nodes += child.nodes;
    parent.levels = std::max(parent.levels, child.levels + 1);
    if (parent.nodes > most_nodes_)
      refuse(document_.file, parent.line, "aliases repeat more than the file holds; write their values out");
  }

  void check_levels(const YAML::Mark& mark, std::size_t more) const {
    if (open_.size() + more > kMostLevels)
      refuse(document_.file, line_of(mark),
             fmt::format("nested deeper than {} levels; this is not a CERAR file", kMostLevels));
  }
  void check_keys(const Entry& map) const {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
      const Entry& key = document_.entries[map.children[i]];
      if (key.kind != Kind::scalar) refuse(document_.file, key.line, "a key is not a plain word");
      if (!seen.insert(key.text).second)
        refuse(document_.file, key.line, fmt::format("the key {} stands twice; keep one of them", key.text));
    }
  }

  Document& document_;
  std::size_t most_nodes_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::uint32_t> anchors_;  ///< of what is complete
};

namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

YamlReader YamlReader::parse(const std::string& text, const std::string& file) {
  auto document = std::make_shared<Document>(Document{file});
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Builder builder(*document, text.size() + 1);
    while (parser.HandleNextDocument(builder)) continue;
  } catch (const YAML::Exception& error) {
    refuse(file, line_of(error.mark), "malformed YAML: " + error.msg);
  }
  if (document->entries.empty()) document->entries.push_back({.kind = Kind::null, .line = 1});
  return YamlReader(std::make_shared<Node>(Node{document, 0, ""}));
}

std::optional<YamlReader> YamlReader::find(std::string_view key) const {
  const Entry& map = node_->entry();
  if (map.kind != Kind::map) fail("is not a map of keys");
  for (std::size_t i = 0; i < map.children.size(); i += 2)
    if (node_->document->entries[map.children[i]].text == key)
      return child(map.children[i + 1], fmt::format("{}{}", node_->path.empty() ? "" : ".", key));
  return std::nullopt;
}

YamlReader YamlReader::at(std::string_view key) const {
  if (auto child = find(key)) return *child;
  fail(fmt::format("lacks the key {}", key));
}

std::vector<YamlReader> YamlReader::items() const {
  const Entry& list = node_->entry();
  if (list.kind != Kind::sequence) fail("is not a list");
  std::vector<YamlReader> items;
  for (std::size_t i = 0; i < list.children.size(); ++i)
    items.push_back(child(list.children[i], fmt::format("[{}]", i)));
  return items;
}

void YamlReader::allow_only(std::initializer_list<std::string_view> keys) const {
  const Entry& map = node_->entry();
  if (map.kind != Kind::map) fail("is not a map of keys");
  for (std::size_t i = 0; i < map.children.size(); i += 2) {
    const Entry& key = node_->document->entries[map.children[i]];
    if (std::find(keys.begin(), keys.end(), key.text) == keys.end())
      refuse(node_->document->file, key.line,
             fmt::format("the key {} is not known here; known are {}", key.text, fmt::join(keys, ", ")));
  }
}

std::string YamlReader::text() const {
  if (node_->entry().kind != Kind::scalar) fail("is not a single value");
  return node_->entry().text;
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
  append_table(node_->at, "", dimensions.begin(), dimensions.end(), values);
  return values;
}

// Readers for each of so many numbers would take most of the time; one is made where there is something to
// say.
void YamlReader::append_table(std::uint32_t at, const std::string& place, const std::size_t* dimension,
                              const std::size_t* end, std::vector<double>& out) const {
  const Entry& entry = node_->document->entries[at];
  if (dimension == end) {
    const auto number = parse_number<double>(entry.text);
    const bool good = entry.kind == Kind::scalar && number && std::isfinite(*number);
    out.push_back(good ? *number : child(at, place).number());
    return;
  }
  if (entry.kind != Kind::sequence) child(at, place).fail("is not a list");
  if (entry.children.size() != *dimension)
    child(at, place).fail(fmt::format("has {} entries but must have {}", entry.children.size(), *dimension));
  for (std::size_t i = 0; i < entry.children.size(); ++i)
    append_table(entry.children[i], fmt::format("{}[{}]", place, i), dimension + 1, end, out);
}

YamlReader YamlReader::child(std::uint32_t at, const std::string& place) const {
  return YamlReader(std::make_shared<Node>(Node{node_->document, at, node_->path + place}));
}

void YamlReader::fail(const std::string& problem) const {
  refuse(node_->document->file, node_->entry().line,
         fmt::format("{} {}", node_->path.empty() ? "the document" : node_->path, problem));
}

}  // namespace cerar
