// The parts of the plot: labels that cover nothing, a script that takes no orders from a topology file.
#include "tuner/plot/front_plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tuner/plot/labels.h"

namespace cerar::tuner {
namespace {

TEST(Labels, CoverNeitherEachOtherNorMarksNorEdges) {
  std::vector<Label> labels;
  Obstacles obstacles{.corner = {0, 0}, .other_corner = {400, 300}};
  // Two rows of points, a label and a mark apart, the outer ones too near the edges for a label above them.
  for (int i = 0; i < 16; ++i) {
    const Pixel point{8.0 + 384.0 / 7 * (i % 8), i < 8 ? 100.0 : 130.0};
    labels.push_back({"c=128", point, {}});
    obstacles.marks.push_back(point);
  }
  place_labels(labels, obstacles, 6, 12);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Pixel centre = labels[i].centre;
    EXPECT_GE(centre.x, 15);
    EXPECT_LE(centre.x, 385);
    EXPECT_LT(std::hypot(centre.x - labels[i].point.x, centre.y - labels[i].point.y), 40)
        << "far from its point";
    for (const Pixel mark : obstacles.marks)
      EXPECT_TRUE(std::abs(centre.x - mark.x) >= 15 || std::abs(centre.y - mark.y) >= 6);
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(std::abs(centre.x - labels[j].centre.x) >= 30 ||
                  std::abs(centre.y - labels[j].centre.y) >= 12)
          << i << " and " << j;
  }
}

TEST(Labels, PreferPlacesOffTheLines) {
  std::vector<Label> labels = {{"c=16", {100, 100}, {}}};
  Obstacles obstacles{.marks = {{100, 100}}, .lines = {{{100, 0}, {100, 200}}}, .other_corner = {200, 200}};
  place_labels(labels, obstacles, 6, 12);
  EXPECT_GE(std::abs(labels[0].centre.x - 100), 12) << "on the vertical line";
}

Front front_of(const std::string& title) {
  Front front{.topology = "t",
              .title = title,
              .baseline = "it's a ring",
              .workers = 4,
              .bytes = 1 << 20,
              .baseline_us = 10};
  FrontPoint exact, code;
  exact.candidate.shape = runtime::make_shape(4, 4);
  exact.time_us = 10;
  code.candidate.construction = runtime::Construction::optimized;
  code.candidate.shape = runtime::make_shape(4, 8);
  code.candidate.claim.total = 1e-3;
  code.time_us = 8;
  front.points = {exact, code};
  return front;
}

TEST(Script, QuotesWhatATopologyFileSays) {
  const std::string script =
      front_script(front_of("a' ; system(\"touch x\") ; b = '`id`\n!touch y"), ImageFormat::svg);
  EXPECT_NE(script.find("'a'' ; system(\"touch x\") ; b = ''`id` !touch y;"), std::string::npos) << script;
  EXPECT_NE(script.find("(it''s a ring = 1)"), std::string::npos);
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) EXPECT_NE(line.rfind("!", 0), 0u) << line;
}

TEST(Script, HoldsTheDataOfEachConstruction) {
  const std::string script = front_script(front_of("title"), ImageFormat::png);
  EXPECT_NE(script.find("$optimized << END\n0.8 0.001\nEND\n"), std::string::npos) << script;
  EXPECT_NE(script.find("'c=8'"), std::string::npos);
  EXPECT_EQ(script.find("$harmonic"), std::string::npos);
  EXPECT_NE(script, front_script(front_of("title"), ImageFormat::svg));
}

TEST(Script, ExactCodesStandOnTheBottomEdgeWhateverTheirRounding) {
  // A code that mixes components claims the rounding of its sums; that is no error of the code.
  Front front = front_of("title");
  const std::string before = front_script(front, ImageFormat::svg);
  front.points[0].candidate.shape = runtime::make_shape(4, 3);
  front.points[0].candidate.claim.total = 1e-7;
  std::string after = front_script(front, ImageFormat::svg);
  after.replace(after.find("'c=3'"), 5, "'c=4'");
  EXPECT_EQ(after, before);
  front.points.pop_back();  // nothing but exact codes: the axis still has a decade
  const std::string alone = front_script(front, ImageFormat::svg);
  EXPECT_NE(alone.find("set yrange [0.316227766:10]"), std::string::npos) << alone;
}

}  // namespace
}  // namespace cerar::tuner
