// Thousands of damaged plans and topologies: each is read or refused with a cerar::Error, and nothing else
// happens. The mutations are the same on every run; sanitizers make the test sharper.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "tests/negative/plan_edits.h"
#include "tests/negative/refusal.h"
#include "tuner/topology/topology.h"

namespace cerar::test {
namespace {

using Engine = std::mt19937_64;

std::size_t below(Engine& engine, std::size_t limit) { return limit == 0 ? 0 : engine() % limit; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string mutated(std::string text, Engine& engine) {
  static const std::string kPieces[] = {
      "[",     "]",      "{",   "}",     ": ",    "- ",  "&a ",
      "*a",    "!!int ", "|\n", "\"",    "nan",   "inf", "-1",
      "1e999", "~",      "\t",  "\n",    "---\n", "? ",  "<<: ",
      "0x",    "'",      ", ,", "%YAML", "\\u0",  "@",   "99999999999999999999"};
  switch (below(engine, 6)) {
    case 0:  // a bit
      if (!text.empty()) text[below(engine, text.size())] ^= static_cast<char>(1 << below(engine, 8));
      return text;
    case 1:  // a byte
      if (!text.empty()) text[below(engine, text.size())] = static_cast<char>(engine());
      return text;
    case 2:
      return text.substr(0, below(engine, text.size() + 1));
    case 3: {  // two lines swap
      auto lines = lines_of(text);
      if (lines.size() > 1) std::swap(lines[below(engine, lines.size())], lines[below(engine, lines.size())]);
      return joined(lines);
    }
    case 4: {  // a line twice, elsewhere
      auto lines = lines_of(text);
      if (lines.empty()) return text;
      const std::string line = lines[below(engine, lines.size())];
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(engine, lines.size() + 1)), line);
      return joined(lines);
    }
    default:
      return text.insert(below(engine, text.size() + 1), kPieces[below(engine, std::size(kPieces))]);
  }
}

struct Counts {
  int read = 0, refused = 0;
};

template <typename Parse>
void count(Parse parse, Counts& counts) {
  try {
    parse();
    ++counts.read;
  } catch (const Error& error) {
    expect_sentence(error.what(), {});
    ++counts.refused;
  }
}

TEST(Fuzz, Plans) {
  Counts counts;
  Engine engine(1);
  for (const auto& plan : {intact_plan(), exact_plan()}) {
    const std::string text = read_text(plan / "plan.yaml");
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = text;
      for (std::size_t n = 1 + below(engine, 3); n > 0; --n) damaged = mutated(damaged, engine);
      // Half of them get past the digest.
      if (i % 2 == 0) damaged = with_digest(damaged);
      count([&] { runtime::parse_plan(damaged, "plan.yaml"); }, counts);
    }
  }
  EXPECT_GT(counts.read, 10) << "no mutation was harmless: the digest is not made to fit";
  EXPECT_GT(counts.refused, 2000);
}

TEST(Fuzz, Topologies) {
  Counts counts;
  Engine engine(2);
  const std::string text =
      "name: a\ntitle: b\nworkers: 4\nlink:\n  latency_us: 10\n  bandwidth_gbs: 5\nmemory:\n  bandwidth_gbs: "
      "15\n"
      "lanes: 2\nbaseline:\n  name: c\n  base_us: 1\n  hop_us: 1\n  bandwidth_gbs: 5\narchitectures: [sm_80, "
      "sm_90]\nmessage_bytes: 4096\n";
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = text;
    for (std::size_t n = 1 + below(engine, 4); n > 0; --n) damaged = mutated(damaged, engine);
    count([&] { tuner::parse_topology(damaged, "mine.yaml"); }, counts);
  }
  EXPECT_GT(counts.read, 30);
  EXPECT_GT(counts.refused, 1000);
}

}  // namespace
}  // namespace cerar::test
