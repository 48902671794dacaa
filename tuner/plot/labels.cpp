#include "tuner/plot/labels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerar::tuner {
namespace {

constexpr double kMarkRadius = 5;
constexpr double kGap = 5;  ///< between the middle of a mark's edge and the text
constexpr double kOutside = 100, kOverLabel = 20, kOverMark = 10, kOverLine = 1;
constexpr double kLineStep = 3;

struct Box {
  double left, top, right, bottom;

  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool holds(Pixel p) const { return left < p.x && p.x < right && top < p.y && p.y < bottom; }
};

Box around(Pixel centre, double half_width, double half_height) {
  return {centre.x - half_width, centre.y - half_height, centre.x + half_width, centre.y + half_height};
}

/// Points of all lines, close enough together that none slips through a text.
std::vector<Pixel> along(const std::vector<std::vector<Pixel>>& lines) {
  std::vector<Pixel> points;
  for (const auto& line : lines)
    for (std::size_t i = 1; i < line.size(); ++i) {
      const Pixel a = line[i - 1], b = line[i];
      const int steps = std::max(1, static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / kLineStep));
      for (int step = 0; step <= steps; ++step) {
        const double share = static_cast<double>(step) / steps;
        points.push_back({a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)});
      }
    }
  return points;
}

}  // namespace

void place_labels(std::vector<Label>& labels, const Obstacles& obstacles, double character_width,
                  double height) {
  const std::vector<Pixel> lines = along(obstacles.lines);
  std::vector<Box> placed;
  for (Label& label : labels) {
    const double half_width = 0.5 * character_width * static_cast<double>(label.text.size());
    const double half_height = 0.5 * height;
    const double dx = kMarkRadius + kGap + half_width, dy = kMarkRadius + half_height;
    // Above and below first: there it is plain whose label it is. Oblique ones clear a text to the side.
    const double up = height + 1;
    const Pixel offsets[] = {{0, -dy}, {0, dy},   {dx, 0},    {-dx, 0},      {dx, -up},
                             {dx, up}, {-dx, up}, {-dx, -up}, {0, -dy - up}, {0, dy + up}};
    double least = std::numeric_limits<double>::infinity();
    Box best{};
    for (const Pixel offset : offsets) {
      const Pixel centre{label.point.x + offset.x, label.point.y + offset.y};
      const Box box = around(centre, half_width, half_height);
      double cost = 0;
      if (box.left < obstacles.corner.x || box.top < obstacles.corner.y ||
          box.right > obstacles.other_corner.x || box.bottom > obstacles.other_corner.y)
        cost += kOutside;
      for (const Box& other : placed) cost += box.meets(other) ? kOverLabel : 0;
      for (const Pixel mark : obstacles.marks)
        cost += box.meets(around(mark, kMarkRadius, kMarkRadius)) ? kOverMark : 0;
      for (const Pixel point : lines) cost += box.holds(point) ? kOverLine : 0;
      if (cost >= least) continue;
      least = cost;
      best = box;
      label.centre = centre;
    }
    placed.push_back(best);
  }
}

}  // namespace cerar::tuner
