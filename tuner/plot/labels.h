#pragma once

#include <string>
#include <vector>

namespace cerar::tuner {

/// In pixels, y downwards.
struct Pixel {
  double x = 0;
  double y = 0;
};

/// A word that belongs to a point of a plot.
struct Label {
  std::string text;
  Pixel point;
  Pixel centre;  ///< of the text; set by `place_labels`
};

/// What labels keep clear of.
struct Obstacles {
  std::vector<Pixel> marks;
  std::vector<std::vector<Pixel>> lines;
  Pixel corner;        ///< top left of the area that labels must stay in
  Pixel other_corner;  ///< bottom right
};

/// Puts each label, in their order, beside its point where it covers least: other labels and marks weigh more
/// than lines. Texts are taken as `character_width` wide per byte and `height` high.
void place_labels(std::vector<Label>& labels, const Obstacles& obstacles, double character_width,
                  double height);

}  // namespace cerar::tuner
