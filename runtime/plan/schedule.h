#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/shape.h"

namespace cerar::runtime {

/// What a kernel does at a visit; each is an entry of the family's template.
enum class Role {
  begin,       ///< sum: message = own
  relay,       ///< sum: message = received + own; plain: visits between the first and the samples
  settle,      ///< sum: result = received + own
  keep,        ///< sum: result = received
  encode,      ///< plain: first visit
  accumulate,  ///< plain: sample s joins the message that is due
  decode,      ///< plain: last visit
  open,        ///< differential: first visit of phases 1..N-1
  visit,       ///< differential: samples 0..r-2
  close,       ///< differential: sample r-1
  widen,       ///< any: a vector in 16 bits to f32, and
  narrow,      ///< back; no visits, for devices only
};
constexpr std::size_t kRoles = static_cast<std::size_t>(Role::narrow) + 1;
constexpr Role kConversions[] = {Role::widen, Role::narrow};

std::string_view name_of(Role role);

/// Roles that the visits of a variant of this kind need, in the order of `Role`.
std::vector<Role> roles_of(Messages messages);

/// One visit of one class by one rank.
struct Step {
  Role role;
  int visit;        ///< t
  int class_index;  ///< q
  int phase;        ///< p
  int sample;       ///< slot of the sample that this visit completes; before the first one -1, -2, ... back
  bool receives;    ///< a message of the previous rank comes in (every visit but the first of all)
  bool sends;       ///< a message goes out (every visit but the last of all)
  bool averages;    ///< the kernel must divide by N when an average is asked for
};

/// What `rank` does at visit t = 1..T. Requires r = 1 for sums and Q = N, r >= 2 otherwise.
Step step_at(const Shape& shape, Messages messages, int rank, int visit);

/// Lines of the vector (and samples and early symbols, which take the place of some) that the kernel of a
/// step loads and stores, together, for each line of its message; the message itself is left out. As the
/// templates do it for calls in place: for differential codes with two contributions, as they are designed. A
/// test counts what kernels access.
int vector_lines(const Step& step, const Shape& shape);

}  // namespace cerar::runtime
