#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// The word for each enumerator, the same in plan files, on command lines and in messages.
std::string_view name_of(Messages value);
std::string_view name_of(Construction value);
std::string_view name_of(DataType value);
std::string_view name_of(Wire value);

/// All words of an enumeration, separated by ", ".
template <typename Enum>
std::string known_names();

/// True and sets `value` when `name` is a word of the enumeration.
template <typename Enum>
bool from_name(std::string_view name, Enum& value);

}  // namespace cerar::runtime
