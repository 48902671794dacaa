#include "tuner/plot/front_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/plan/names.h"
#include "runtime/program/text.h"
#include "tuner/plot/labels.h"

namespace cerar::tuner {
namespace {

using runtime::Construction;

constexpr double kWidth = 800, kHeight = 560;
constexpr double kLeft = 92, kRight = 782, kTop = 62, kBottom = 440;  // of the area with the data
constexpr double kLabelSize = 11, kCharacterWidth = 6.4, kLabelHeight = 13;
constexpr double kSameLabel = 22;

struct Style {
  const char* title;
  const char* colour;  // of Okabe and Ito, told apart by the colour-blind; marks differ as well
  int mark;
};

struct ConstructionStyle {
  Construction construction;
  Style style;
};
constexpr ConstructionStyle kConstructions[] = {
    {Construction::ring, {"exact (ring)", "#000000", 5}},
    {Construction::unimodular, {"unimodular", "#009e73", 15}},
    {Construction::harmonic, {"plain: harmonic", "#7f7f7f", 9}},
    {Construction::vandermonde, {"plain: vandermonde", "#e69f00", 11}},
    {Construction::optimized, {"plain: optimized", "#0072b2", 7}},
    {Construction::differential, {"differential (default)", "#d55e00", 13}},
};

struct WireStyle {
  runtime::Wire wire;
  Style style;
};
constexpr WireStyle kWires[] = {
    {runtime::Wire::f32, {"messages of f32", "#000000", 5}},
    {runtime::Wire::bf16, {"bf16", "#7f7f7f", 9}},
    {runtime::Wire::f16, {"f16", "#e69f00", 11}},
    {runtime::Wire::fx16, {"fx16", "#0072b2", 7}},
    {runtime::Wire::fx12, {"fx12", "#009e73", 15}},
    {runtime::Wire::fx8, {"fx8", "#d55e00", 13}},
};

/// In single quotes gnuplot takes everything but the quote itself literally.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char character : text) {
    if (character == '\'') word += '\'';
    word += static_cast<unsigned char>(character) < 0x20 ? ' ' : character;
  }
  return word + "'";
}

/// From data to pixels.
class Axes {
 public:
  explicit Axes(const Front& front) : baseline_us_(front.baseline_us) {
    double least = 1, most = 0;
    for (const FrontPoint& point : front.points) {
      left_ = std::min(left_, ratio(point));
      right_ = std::max(right_, ratio(point));
      const double error = point.objectives().error;
      if (error == 0) continue;
      least = std::min(least, error);
      most = std::max(most, error);
    }
    const double margin = std::max(0.05 * (right_ - left_), 0.005);
    left_ -= margin;
    right_ += margin;
    lowest_decade_ = static_cast<int>(std::floor(std::log10(least)));
    highest_decade_ = most > 0 ? std::max(lowest_decade_ + 1, static_cast<int>(std::ceil(std::log10(most))))
                               : lowest_decade_ + 1;
  }

  double ratio(const FrontPoint& point) const { return point.time_us / baseline_us_; }
  /// The exact ones stand on the bottom edge.
  double height(const FrontPoint& point) const {
    const double error = point.objectives().error;
    return error == 0 ? bottom() : error;
  }
  double left() const { return left_; }
  double right() const { return right_; }
  double bottom() const { return std::pow(10, lowest_decade_ - 0.5); }
  double top() const { return std::pow(10, highest_decade_); }

  Pixel pixel(const FrontPoint& point) const { return pixel(ratio(point), height(point)); }
  Pixel pixel(double ratio, double height) const {
    const double x = (ratio - left_) / (right_ - left_);
    const double y = std::log(height / bottom()) / std::log(top() / bottom());
    return {kLeft + x * (kRight - kLeft), kBottom - y * (kBottom - kTop)};
  }

  /// Error ticks in per cent.
  std::string error_ticks() const {
    std::string ticks = fmt::format("'exact' {:.9g}", bottom());
    for (int decade = lowest_decade_; decade <= highest_decade_; ++decade) {
      ticks += fmt::format(", '{:.9g} %%' {:.9g}", std::pow(10, decade + 2), std::pow(10, decade));
      for (int digit = 2; digit < 10 && decade < highest_decade_; ++digit)
        ticks += fmt::format(", '' {:.9g} 1", digit * std::pow(10, decade));
    }
    return ticks;
  }

 private:
  double baseline_us_;
  double left_ = 1, right_ = 1;  // the baseline itself is always seen
  int lowest_decade_, highest_decade_;
};

/// The points of one construction or wire, each code once: their front over all limits, and the others.
struct Curve {
  std::vector<const FrontPoint*> front, others;
};

template <typename Belongs>
Curve curve_of(const Front& front, Belongs belongs) {
  std::vector<const FrontPoint*> points;
  std::vector<Objectives> objectives;
  std::set<std::pair<double, double>> seen;
  for (const FrontPoint& point : front.points)
    if (belongs(point.candidate) && seen.insert({point.time_us, point.objectives().error}).second) {
      points.push_back(&point);
      objectives.push_back(point.objectives());
    }
  Curve curve;
  const std::vector<std::size_t> best = non_dominated(objectives);
  for (std::size_t i = 0; i < points.size(); ++i)
    (std::binary_search(best.begin(), best.end(), i) ? curve.front : curve.others).push_back(points[i]);
  std::sort(curve.front.begin(), curve.front.end(),
            [](const auto* a, const auto* b) { return a->time_us < b->time_us; });
  return curve;
}

std::string data_block(const std::string& name, const std::vector<const FrontPoint*>& points,
                       const Axes& axes) {
  std::string block = fmt::format("${} << END\n", name);
  for (const FrontPoint* point : points)
    block += fmt::format("{:.9g} {:.9g}\n", axes.ratio(*point), axes.height(*point));
  return block + "END\n";
}

/// SVG counts pixels, PNG points of 1/72 inch with 96 pixels to the inch.
double font_size(double pixels, ImageFormat format) {
  return format == ImageFormat::svg ? pixels : 0.75 * pixels;
}

/// The terminals draw marks of one size differently large.
double mark_size(ImageFormat format) { return format == ImageFormat::svg ? 0.65 : 0.9; }

/// Centred; `more` are words of gnuplot.
std::string text_at(const std::string& text, Pixel at, double size, ImageFormat format,
                    const std::string& more = "") {
  return fmt::format("set label {} at screen {:.6f},{:.6f} center font ',{}'{}\n", quoted(text),
                     at.x / kWidth, 1 - at.y / kHeight, font_size(size, format), more);
}

/// Everything but the data.
std::string preamble(const Front& front, const Axes& axes, ImageFormat format) {
  const double middle = 0.5 * (kLeft + kRight);
  std::string text = fmt::format(
      "set encoding utf8\nset terminal {} size {},{} noenhanced background '#ffffff' font '{},{}'\n",
      format == ImageFormat::svg ? "svg" : "pngcairo", kWidth, kHeight,
      format == ImageFormat::svg ? "Helvetica" : "Sans", font_size(13, format));
  text += fmt::format(
      "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n",
      kLeft / kWidth, kRight / kWidth, 1 - kTop / kHeight, 1 - kBottom / kHeight);
  text += text_at(fmt::format("Error and time of codes: {} workers, {}, {}", front.workers,
                              program::bytes_text(front.bytes), runtime::name_of(front.type)),
                  {middle, 20}, 15, format);
  text += text_at(front.title + "; lower and further left is better", {middle, 42}, 13, format);
  text += text_at(fmt::format("predicted time of an all-reduce ({} = 1)", front.baseline),
                  {middle, kBottom + 40}, 13, format);
  text += text_at("relative rms error of the sum", {18, 0.5 * (kTop + kBottom)}, 13, format, " rotate");
  text += fmt::format("set xrange [{:.9g}:{:.9g}]\nset yrange [{:.9g}:{:.9g}]\nset logscale y\n", axes.left(),
                      axes.right(), axes.bottom(), axes.top());
  text += fmt::format(
      "set ytics ({})\nset format x '%.2f'\nset grid xtics ytics linecolor '#dddddd' linetype 1\n"
      "set border 3\nset tics nomirror\n",
      axes.error_ticks());
  text += "set arrow from 1,graph 0 to 1,graph 1 nohead linecolor '#404040' dashtype 2\n";
  text += text_at(front.baseline, {axes.pixel(1, 1).x - 10, 0.5 * (kTop + kBottom)}, 13, format, " rotate");
  text +=
      fmt::format("set key at screen {:.6f},{:.6f} center bottom vertical Left reverse maxrows 2 samplen 2\n",
                  middle / kWidth, 28 / kHeight);
  return text;
}

/// Codes of several constructions with the same c lie close together where they are equally fast and exact;
/// one label says it for all.
void add_label(const std::string& text, Pixel point, std::vector<Label>& labels) {
  const bool there = std::any_of(labels.begin(), labels.end(), [&](const Label& other) {
    return other.text == text && std::hypot(other.point.x - point.x, other.point.y - point.y) < kSameLabel;
  });
  if (!there) labels.push_back({text, point, {}});
}

/// Collects what a construction adds to the script.
class Drawing {
 public:
  Drawing(const Axes& axes, ImageFormat format) : axes_(axes), format_(format) {
    obstacles_.lines.push_back({axes.pixel(1, axes.bottom()), axes.pixel(1, axes.top())});
  }

  void add(std::string_view word, const Style& style, const Curve& curve) {
    const std::string name(word);
    std::vector<Pixel> line;
    for (const FrontPoint* point : curve.front) {
      line.push_back(axes_.pixel(*point));
      add_label(fmt::format("c={}", point->candidate.shape.components), line.back(), labels_);
    }
    obstacles_.marks.insert(obstacles_.marks.end(), line.begin(), line.end());
    for (const FrontPoint* point : curve.others) obstacles_.marks.push_back(axes_.pixel(*point));
    obstacles_.lines.push_back(std::move(line));
    blocks_ += data_block(name, curve.front, axes_);
    plots_.push_back(
        fmt::format("${} with linespoints linecolor '{}' linewidth 1.5 pointtype {} pointsize {} title '{}'",
                    name, style.colour, style.mark, mark_size(format_), style.title));
    if (curve.others.empty()) return;
    blocks_ += data_block(name + "_limited", curve.others, axes_);
    plots_.push_back(fmt::format("${}_limited with points linecolor '{}' pointtype {} pointsize {} notitle",
                                 name, style.colour, style.mark, 0.5 * mark_size(format_)));
    for (const FrontPoint* point : curve.others) limits_.insert(point->condition_limit);
  }

  std::string script() {
    place_labels(labels_, obstacles_, kCharacterWidth, kLabelHeight);
    std::string note = "c: components that the vector is cut into";
    std::vector<std::string> limits;
    for (const double limit : limits_) limits.push_back(program::number_text(limit));
    if (!limits.empty())
      note +=
          fmt::format("; small marks: the same held to a condition number of {}", fmt::join(limits, ", "));
    std::string text = text_at(note, {0.5 * (kLeft + kRight), kHeight - 14}, kLabelSize, format_);
    for (const Label& label : labels_)
      text += text_at(label.text, label.centre, kLabelSize, format_, " textcolor '#404040'");
    return text + blocks_ + fmt::format("plot {}\n", fmt::join(plots_, ", \\\n  "));
  }

 private:
  const Axes& axes_;
  ImageFormat format_;
  std::vector<Label> labels_;
  Obstacles obstacles_{.corner = {kLeft, kTop}, .other_corner = {kRight, kBottom}};
  std::string blocks_;
  std::vector<std::string> plots_;
  std::set<double> limits_;  ///< of the small marks
};

}  // namespace

std::string front_script(const Front& all, ImageFormat format) {
  // Beside six wires, what is slower than what users have would only make the rest smaller.
  constexpr double kTooSlow = 1.1;
  Front front = all;
  if (front.wires.size() > 1)
    std::erase_if(front.points,
                  [&](const FrontPoint& point) { return point.time_us > kTooSlow * front.baseline_us; });
  const Axes axes(front);
  Drawing drawing(axes, format);
  const auto add = [&](std::string_view name, const Style& style, Curve curve) {
    if (!curve.front.empty()) drawing.add(name, style, curve);
  };
  if (front.wires.size() == 1) {
    for (const auto& [construction, style] : kConstructions)
      add(runtime::name_of(construction), style,
          curve_of(front, [&](const Candidate& c) { return c.construction == construction; }));
  } else {
    // Of each wire the best of all constructions; more would hide them.
    for (const auto& [wire, style] : kWires) {
      Curve curve = curve_of(front, [&](const Candidate& c) { return c.wire == wire; });
      curve.others.clear();
      add(runtime::name_of(wire), style, std::move(curve));
    }
  }
  return preamble(front, axes, format) + drawing.script();
}

}  // namespace cerar::tuner
