#include "runtime/plan/names.h"

#include <utility>

namespace cerar::runtime {
namespace {

template <typename Enum>
struct Names;

template <>
struct Names<Messages> {
  static constexpr std::pair<Messages, std::string_view> kTable[] = {
      {Messages::sum, "sum"}, {Messages::plain, "plain"}, {Messages::differential, "differential"}};
};

template <>
struct Names<Construction> {
  static constexpr std::pair<Construction, std::string_view> kTable[] = {
      {Construction::ring, "ring"},           {Construction::unimodular, "unimodular"},
      {Construction::harmonic, "harmonic"},   {Construction::vandermonde, "vandermonde"},
      {Construction::optimized, "optimized"}, {Construction::differential, "differential"}};
};

template <>
struct Names<DataType> {
  static constexpr std::pair<DataType, std::string_view> kTable[] = {
      {DataType::f32, "f32"}, {DataType::bf16, "bf16"}, {DataType::f16, "f16"}};
};

template <>
struct Names<Wire> {
  static constexpr std::pair<Wire, std::string_view> kTable[] = {{Wire::f32, "f32"},   {Wire::bf16, "bf16"},
                                                                 {Wire::f16, "f16"},   {Wire::fx16, "fx16"},
                                                                 {Wire::fx12, "fx12"}, {Wire::fx8, "fx8"}};
};

template <typename Enum>
std::string_view word(Enum value) {
  for (const auto& [enumerator, name] : Names<Enum>::kTable)
    if (enumerator == value) return name;
  return "unknown";
}

}  // namespace

std::string_view name_of(Messages value) { return word(value); }
std::string_view name_of(Construction value) { return word(value); }
std::string_view name_of(DataType value) { return word(value); }
std::string_view name_of(Wire value) { return word(value); }

template <typename Enum>
std::string known_names() {
  std::string names;
  for (const auto& entry : Names<Enum>::kTable) {
    if (!names.empty()) names += ", ";
    names += entry.second;
  }
  return names;
}

template <typename Enum>
bool from_name(std::string_view name, Enum& value) {
  for (const auto& [enumerator, word] : Names<Enum>::kTable)
    if (word == name) {
      value = enumerator;
      return true;
    }
  return false;
}

template std::string known_names<Messages>();
template std::string known_names<Construction>();
template std::string known_names<DataType>();
template std::string known_names<Wire>();
template bool from_name(std::string_view, Messages&);
template bool from_name(std::string_view, Construction&);
template bool from_name(std::string_view, DataType&);
template bool from_name(std::string_view, Wire&);

}  // namespace cerar::runtime
