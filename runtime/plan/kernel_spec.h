#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/plan/plan.h"

namespace cerar::runtime {

/// A row-major table of f32 coefficients; `values` holds the product of `dimensions` numbers.
struct FloatTable {
  std::vector<int> dimensions;
  std::vector<float> values;
};

using Value = std::variant<bool, int, float, FloatTable>;

/// Everything that distinguishes one variant's kernels: which template, and what its parameters are.
struct KernelSpec {
  std::string family;                       ///< the template: "sum", "plain" or "differential"
  std::string wire = "f32";                 ///< messages are stored as templates/wire/<wire>.h says
  int block = 0;                            ///< elements that share a scale; 0 where the wire has no blocks
  std::string prefix;                       ///< entries are called cerar_<prefix>_<role>
  std::map<std::string, Value> parameters;  ///< by the name that the template gives them
  std::string mark = {};                    ///< see kernel_mark; empty: none
};

/// Maps the tables of a variant to the parameters of its template. `prefix` is the variant's name with every
/// character outside [A-Za-z0-9_] replaced by '_'. Plain messages:
///   kEncode[p][n][k] = beta_j(t)[k] - beta_j(t - N)[k],  t = visit_time(p, n),  j = chain_at(p, t)
/// beta(s) = 0 for s <= 0, with a last row of zeros for phases that are multiples of Q, which have one visit
/// less. kOwnExact where there is decode_out_of_place. Throws `invalid_plan` where a table does not have the
/// size that its shape asks for or where epsilon is not positive, and `unsupported` for plain messages of
/// more than `kMostPlainTerms` terms.
inline constexpr int kMostPlainTerms = 64;
KernelSpec make_kernel_spec(const Variant& variant);

/// What every compiled file of a variant's kernels holds, once and as text: "cerar-kernels " and the SHA-256
/// of what they were specialised for, which is the shape, roles and entries, and the kernel spec. Loading
/// compares it with the plan's text, so that no other kernels run under its name.
std::string kernel_mark(const Variant& variant);

/// How compiled bytes do not fit a variant, as the end of a sentence; nothing where they do.
std::optional<std::string> mark_problem(const Variant& variant, std::string_view bytes);

}  // namespace cerar::runtime
