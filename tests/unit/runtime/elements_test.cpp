// Conversions of vectors in 16 bits, against arithmetic in double.
#include "runtime/plan/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cerar::runtime {
namespace {

struct Format {
  DataType type;
  int significand, least_exponent;  // bits with the leading one; of the smallest normal number
  double largest;
};
constexpr Format kFormats[] = {{DataType::bf16, 8, -126, 0x1.fep127}, {DataType::f16, 11, -14, 65504}};

float widened(DataType type, std::uint16_t bits) {
  float value = 0;
  widen(type, &bits, 0, 1, &value);
  return value;
}

std::uint16_t narrowed(DataType type, float value) {
  std::uint16_t bits = 0;
  narrow(type, &value, 1, &bits, 0);
  return bits;
}

// The nearest number of the format, ties to even, by scaling it to whole numbers.
double nearest(const Format& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.significand + 1);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::abs(rounded) > format.largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                            : rounded;
}

TEST(Elements, EveryHalfSurvivesTheWayToF32AndBack) {
  for (const auto& format : kFormats)
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float value = widened(format.type, half);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(widened(format.type, narrowed(format.type, value)))) << bits;
      else
        EXPECT_EQ(narrowed(format.type, value), half) << bits;
    }
}

TEST(Elements, RoundsToNearestTiesToEven) {
  std::mt19937 random(1);
  for (const auto& format : kFormats) {
    const auto check = [&](float value) {
      EXPECT_EQ(widened(format.type, narrowed(format.type, value)), nearest(format, value)) << value;
    };
    for (int i = 0; i < 400000; ++i) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (std::isfinite(value)) check(value);
      // Numbers in the range of f16, ties among them.
      const float small =
          std::ldexp(static_cast<float>(random() % 16384), static_cast<int>(random() % 34) - 28);
      check(random() % 2 ? small : -small);
    }
    for (const float edge :
         {65504.0f, 65519.996f, 65520.0f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.ffcp-15f, 0.0f, -0.0f,
          std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
      check(edge);
      check(-edge);
    }
    EXPECT_TRUE(std::signbit(widened(format.type, narrowed(format.type, -0.0f))));
    EXPECT_TRUE(std::isnan(
        widened(format.type, narrowed(format.type, std::bit_cast<float>(std::uint32_t{0x7fffffff})))));
    EXPECT_TRUE(std::isnan(
        widened(format.type, narrowed(format.type, std::bit_cast<float>(std::uint32_t{0xff800001})))));
  }
}

TEST(Elements, BeginWhereTheyShould) {
  std::vector<float> vector = {1, 2, 3, 4, 5}, part(2);
  widen(DataType::f32, vector.data(), 1, 2, part.data());
  EXPECT_EQ(part, (std::vector<float>{2, 3}));
  narrow(DataType::f32, part.data(), 2, vector.data(), 3);
  EXPECT_EQ(vector, (std::vector<float>{1, 2, 3, 2, 3}));
}

}  // namespace
}  // namespace cerar::runtime
