#include "tests/support/message_simulation.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace cerar::testing {
namespace {

using Line = std::vector<float>;    // one component of one worker
using Vector = std::vector<Line>;   // [components]
using World = std::vector<Vector>;  // [workers]

int modulo(int a, int n) { return (a % n + n) % n; }

World make_gradients(const runtime::Shape& shape, const SimulationSettings& settings) {
  const int length = std::max(1, settings.elements / shape.components);
  std::mt19937_64 engine(settings.seed);
  std::normal_distribution<float> normal;
  World world(shape.workers, Vector(shape.components, Line(length)));
  for (Vector& vector : world)
    for (Line& line : vector)
      for (float& x : line) x = normal(engine);
  if (settings.gradients == Gradients::equal)
    for (Vector& vector : world) vector = world[0];
  return world;
}

Measured compare(const World& gradients, const World& results) {
  double error = 0, difference = 0, norm = 0;
  const double workers = static_cast<double>(gradients.size());
  for (std::size_t m = 0; m < gradients[0].size(); ++m)
    for (std::size_t e = 0; e < gradients[0][m].size(); ++e) {
      double sum = 0, mean = 0;
      for (const Vector& vector : gradients) sum += vector[m][e];
      for (const Vector& result : results) mean += result[m][e] / workers;
      norm += sum * sum;
      for (const Vector& result : results) {
        error += std::pow(result[m][e] - sum, 2) / workers;
        difference += std::pow(result[m][e] - mean, 2) / workers;
      }
    }
  return {.error = std::sqrt(error / norm), .rank_difference = std::sqrt(difference / norm)};
}

void add_scaled(Line& x, float coefficient, const Line& g) {
  for (std::size_t e = 0; e < x.size(); ++e) x[e] = std::fma(coefficient, g[e], x[e]);
}

Line on_wire(Line x, int bits) {
  if (bits >= 24) return x;
  for (float& value : x) {
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(value), &exponent);
    value = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits));
  }
  return x;
}

/// Runs the rounds: `visit(worker, t, x)` turns the message received (empty at t = 1) into the one to send.
template <typename Visit>
void run_rounds(const runtime::Shape& shape, int wire_bits, Visit visit) {
  const int visits = shape.components + shape.workers - 1;
  std::vector<Line> inbox(shape.workers);
  for (int t = 1; t <= visits; ++t) {
    std::vector<Line> outbox(shape.workers);
    for (int i = 0; i < shape.workers; ++i)
      outbox[(i + 1) % shape.workers] = on_wire(visit(i, t, std::move(inbox[i])), wire_bits);
    inbox = std::move(outbox);
  }
}

}  // namespace

Measured simulate(const runtime::Shape& shape, const runtime::PlainTables& tables,
                  const SimulationSettings& settings) {
  const int workers = shape.workers, terms = shape.terms, classes = shape.classes;
  const int visits = shape.components + workers - 1;
  const World gradients = make_gradients(shape, settings);
  const std::size_t length = gradients[0][0].size();
  std::vector<std::vector<std::vector<Line>>> samples(workers, std::vector<std::vector<Line>>(classes));

  run_rounds(shape, settings.wire_bits, [&](int i, int t, Line x) {
    const int l = modulo(i - t, workers), q = l % classes, j = (l - q) / classes;
    const auto beta = [&](int time, int k) {
      return time <= 0 ? 0.0 : tables.beta[(static_cast<std::size_t>(j) * visits + time - 1) * terms + k];
    };
    Line symbol(length, 0.0f);
    for (int k = 0; k < terms; ++k)
      add_scaled(symbol, static_cast<float>(beta(t, k) - beta(t - workers, k)), gradients[i][q * terms + k]);
    if (t > 1)
      for (std::size_t e = 0; e < length; ++e) symbol[e] = x[e] + symbol[e];
    if (t >= workers) samples[i][q].push_back(symbol);
    return symbol;
  });

  World results(workers, Vector(shape.components, Line(length, 0.0f)));
  for (int i = 0; i < workers; ++i)
    for (int q = 0; q < classes; ++q) {
      const float* const decode =
          &tables.decode[static_cast<std::size_t>(modulo(i - q, workers)) * terms * terms];
      std::vector<Line> z = samples[i][q];
      const int chains = workers / classes;
      for (int s = terms - 1; s >= chains; --s)
        for (std::size_t e = 0; e < length; ++e) z[s][e] -= z[s - chains][e];
      for (int k = 0; k < terms; ++k)
        for (int s = terms - 1; s >= 0; --s)
          add_scaled(results[i][q * terms + k], decode[s * terms + k], z[s]);
    }
  return compare(gradients, results);
}

Measured simulate(const runtime::Shape& shape, const runtime::DifferentialTables& tables,
                  const SimulationSettings& settings) {
  const int workers = shape.workers, terms = shape.terms;
  const World gradients = make_gradients(shape, settings);
  const std::size_t length = gradients[0][0].size();
  const float inverse = 1.0f / tables.epsilon;
  const auto order = [&](int t) { return std::max(0, t / workers - 1); };
  // [worker][class][sample]: as sent, and as stored (own correction included)
  std::vector<std::vector<std::vector<Line>>> sent(workers, std::vector<std::vector<Line>>(workers)),
      stored = sent;

  run_rounds(shape, settings.wire_bits, [&](int i, int t, Line x) {
    const int q = modulo(i - t, workers), p = modulo(i - q, workers);
    const auto component = [&](int k) -> const Line& { return gradients[i][q * terms + k]; };
    if (t == 1) x.assign(length, 0.0f);
    const int received_order = order(t - 1);
    const float* const w = t <= workers ? &tables.open[3 * p] : &tables.extend[3 * p];
    const int first = t <= workers ? 0 : received_order + 1;
    for (int j = 0; j < 3 && first + j < terms; ++j) add_scaled(x, w[j], component(first + j));
    if (order(t) > received_order) {
      const Line& before = sent[i][q].back();
      for (std::size_t e = 0; e < length; ++e) x[e] = (x[e] - before[e]) * inverse;
    }
    if (t >= workers) {
      const int k = t / workers - 1;
      sent[i][q].push_back(x);
      Line sample = x;
      const float* const own = &tables.own[(p * 2 + (k <= terms - 3 ? 0 : 1)) * 2];
      if (tables.own_exact)
        for (int j = 1; j <= 2 && k + j < terms; ++j) add_scaled(sample, own[j - 1], component(k + j));
      stored[i][q].push_back(sample);
    }
    return x;
  });

  World results(workers, Vector(shape.components, Line(length, 0.0f)));
  for (int i = 0; i < workers; ++i)
    for (int q = 0; q < workers; ++q)
      for (int k = 0; k < terms; ++k) {
        const int row = k <= terms - 3 ? 0 : k == terms - 2 ? 1 : 2;
        const float* const decode = &tables.decode[(modulo(i - q, workers) * 3 + row) * 3];
        for (int j = 0; j < 3 - row; ++j)
          add_scaled(results[i][q * terms + k], decode[j], stored[i][q][k + j]);
      }
  return compare(gradients, results);
}

}  // namespace cerar::testing
