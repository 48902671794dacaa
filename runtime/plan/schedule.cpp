#include "runtime/plan/schedule.h"

#include <algorithm>

namespace cerar::runtime {
namespace {

Role sum_role(const Shape& shape, int phase, int visit, bool is_last) {
  if (!is_last) return visit == 1 ? Role::begin : Role::relay;
  // Phases that are multiples of Q meet each chain once: their own elements join at the last visit.
  return phase % shape.classes == 0 ? Role::settle : Role::keep;
}

Role plain_role(int number, int sample, bool is_last) {
  if (number == 0) return Role::encode;
  if (sample < 0) return Role::relay;
  return is_last ? Role::decode : Role::accumulate;
}

Role differential_role(int phase, int number, bool is_last) {
  if (phase != 0 && number == 0) return Role::open;
  return is_last ? Role::close : Role::visit;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::begin:
      return "begin";
    case Role::relay:
      return "relay";
    case Role::settle:
      return "settle";
    case Role::keep:
      return "keep";
    case Role::encode:
      return "encode";
    case Role::accumulate:
      return "accumulate";
    case Role::decode:
      return "decode";
    case Role::open:
      return "open";
    case Role::visit:
      return "visit";
    case Role::close:
      return "close";
    case Role::widen:
      return "widen";
    case Role::narrow:
      return "narrow";
  }
  return "unknown";
}

std::vector<Role> roles_of(Messages messages) {
  switch (messages) {
    case Messages::sum:
      return {Role::begin, Role::relay, Role::settle, Role::keep};
    case Messages::plain:
      return {Role::relay, Role::encode, Role::accumulate, Role::decode};
    case Messages::differential:
      return {Role::open, Role::visit, Role::close};
  }
  return {};
}

Step step_at(const Shape& shape, Messages messages, int rank, int visit) {
  const int class_index = class_at(shape, rank, visit);
  const int phase = phase_of(shape, rank, class_index);
  const int number = (visit - visit_time(shape, phase, 0)) / shape.classes;
  const bool is_last = number == visit_count(shape, phase) - 1;
  Step step{.role = Role::begin,
            .visit = visit,
            .class_index = class_index,
            .phase = phase,
            .sample = number - first_sample_visit(shape, phase),
            .receives = visit > 1,
            .sends = visit < shape.visits,
            .averages = false};
  switch (messages) {
    case Messages::sum:
      step.role = sum_role(shape, phase, visit, is_last);
      step.averages = step.role == Role::settle;
      break;
    case Messages::plain:
      step.role = plain_role(number, step.sample, is_last);
      step.averages = step.role == Role::decode;
      break;
    case Messages::differential:
      step.role = differential_role(phase, number, is_last);
      step.averages = step.role != Role::open;
      break;
  }
  return step;
}

int vector_lines(const Step& step, const Shape& shape) {
  const int terms = shape.terms;
  const int missing = step.phase == 0 ? 0 : 1;  // of two components from sample + missing on
  const int components = std::clamp(terms - step.sample - missing, 0, 2);
  const bool raises = step.phase == 0 && step.sample > 0;
  switch (step.role) {
    case Role::begin:
      return 1;
    case Role::relay:
      return 1;
    case Role::settle:
      return 2;
    case Role::keep:
      return 1;
    case Role::encode:  // and the symbols that leave before the first sample
      return 2 * terms + std::max(0, -step.sample - 1);
    case Role::accumulate:
      return 2;
    case Role::decode:
      return 2 * terms;
    case Role::open:
      return 2;
    case Role::visit:
      return components + 1 + (raises ? 1 : 0);
    case Role::close:
      return components + (raises ? 1 : 0) + 2 * terms - 1;
    case Role::widen:
    case Role::narrow:
      break;  // no visits
  }
  return 0;
}

}  // namespace cerar::runtime
