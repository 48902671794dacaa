#pragma once

#include <string>

#include "tuner/plot/image.h"
#include "tuner/search/pareto.h"

namespace cerar::tuner {

/// The gnuplot script that draws a front: predicted time against the baseline's to the right, relative error
/// upwards on a log scale with the exact codes on the bottom line. One line per construction, its front over
/// all condition limits, with c beside the points; what a tighter limit leaves is a small mark.
std::string front_script(const Front& front, ImageFormat format);

}  // namespace cerar::tuner
