#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A node of a YAML document that knows where it stands, so that every error names file, line and key.
/// Reading is strict: numbers are read whole and correctly rounded, unknown keys can be refused. All errors
/// are `invalid_plan`.
class YamlReader {
 public:
  /// Parses `text`, which holds one document; `file` is only used in messages. Throws on malformed YAML,
  /// duplicate keys, and what is nested deeper than 32 levels.
  static YamlReader parse(const std::string& text, const std::string& file);

  YamlReader at(std::string_view key) const;
  std::optional<YamlReader> find(std::string_view key) const;
  std::vector<YamlReader> items() const;

  /// Refuses keys outside the list, naming the nearest known ones.
  void allow_only(std::initializer_list<std::string_view> keys) const;

  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  double number() const;  ///< finite
  double number(double min, double max) const;
  /// Numbers of a nested list in row-major order; every level must have the length given.
  std::vector<double> table(std::initializer_list<std::size_t> dimensions) const;

  /// Throws "file:line: key.path problem." on one line, control characters as \xHH.
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  struct Document;
  struct Node;
  class Builder;
  explicit YamlReader(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  /// `place` is added to the path: ".key" or "[3]".
  YamlReader child(std::uint32_t at, const std::string& place) const;
  void append_table(std::uint32_t at, const std::string& place, const std::size_t* dimension,
                    const std::size_t* end, std::vector<double>& out) const;

  std::shared_ptr<const Node> node_;
};

}  // namespace cerar
