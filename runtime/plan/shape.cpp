#include "runtime/plan/shape.h"

#include <numeric>
#include <string>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

int modulo(int value, int base) { return ((value % base) + base) % base; }

}  // namespace

Shape make_shape(int workers, int components) {
  if (workers < 1)
    throw Error(ErrorCode::invalid_argument,
                "workers is " + std::to_string(workers) + "; an all-reduce needs at least 1 worker.");
  if (components < 1)
    throw Error(ErrorCode::invalid_argument,
                "components is " + std::to_string(components) + "; a code needs at least 1 component.");
  const int classes = std::gcd(components, workers);
  return {.workers = workers,
          .components = components,
          .classes = classes,
          .terms = components / classes,
          .chains = workers / classes,
          .rounds = components + workers - 2,
          .visits = components + workers - 1};
}

int class_at(const Shape& shape, int rank, int visit) {
  return modulo(rank - visit, shape.workers) % shape.classes;
}

int phase_of(const Shape& shape, int rank, int class_index) {
  return modulo(rank - class_index, shape.workers);
}

int chain_at(const Shape& shape, int phase, int visit) {
  // phase - visit is a multiple of Q, so the division is exact for either sign.
  return modulo((phase - visit) / shape.classes, shape.chains);
}

int visit_time(const Shape& shape, int phase, int number) {
  const int residue = phase % shape.classes;
  return (residue == 0 ? shape.classes : residue) + number * shape.classes;
}

int visit_count(const Shape& shape, int phase) {
  return (shape.visits - visit_time(shape, phase, 0)) / shape.classes + 1;
}

int first_sample_visit(const Shape& shape, int phase) { return visit_count(shape, phase) - shape.terms; }

}  // namespace cerar::runtime
