#include "runtime/measure/element_type.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/plan/elements.h"
#include "runtime/plan/names.h"

namespace cerar::runtime {
namespace {

struct Row {
  cerarDataType_t type;
  DataType plan_type;
  std::size_t bytes;
  double half_ulp;
};
constexpr Row kRows[] = {{cerarFloat32, DataType::f32, 4, 0},
                         {cerarBfloat16, DataType::bf16, 2, 0x1p-8},
                         {cerarFloat16, DataType::f16, 2, 0x1p-11}};

const Row& row_of(cerarDataType_t type) {
  for (const Row& row : kRows)
    if (row.type == type) return row;
  throw Error(ErrorCode::unsupported, fmt::format("{} is not a type of vectors.", static_cast<int>(type)));
}

}  // namespace

std::size_t element_bytes(cerarDataType_t type) { return row_of(type).bytes; }

std::string_view name_of(cerarDataType_t type) { return name_of(row_of(type).plan_type); }

cerarDataType_t element_type(const std::string& option, const std::string& name) {
  for (const Row& row : kRows)
    if (name_of(row.plan_type) == name) return row.type;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} is '{}'; known are {}.", option, name, known_names<DataType>()));
}

double half_ulp(cerarDataType_t type) { return row_of(type).half_ulp; }

double rounding_rms(cerarDataType_t type) { return rounding_rms(row_of(type).plan_type); }

std::vector<std::byte> packed(cerarDataType_t type, std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * element_bytes(type));
  narrow(row_of(type).plan_type, values.data(), values.size(), bytes.data(), 0);
  return bytes;
}

std::vector<float> unpacked(cerarDataType_t type, std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / element_bytes(type));
  widen(row_of(type).plan_type, bytes.data(), 0, values.size(), values.data());
  return values;
}

std::vector<float> rounded(cerarDataType_t type, std::vector<float> values) {
  return type == cerarFloat32 ? std::move(values) : unpacked(type, packed(type, values));
}

}  // namespace cerar::runtime
