#pragma once

namespace cerar::runtime {

/// The numbers that follow from `workers` (N) and `components` (c) alone. tuner/DESIGN.md, section 1.
struct Shape {
  int workers = 1;     ///< N
  int components = 1;  ///< c
  int classes = 1;     ///< Q = gcd(c, N)
  int terms = 1;       ///< r = c / Q, components mixed within a class
  int chains = 1;      ///< M = N / Q, chains per class
  int rounds = 0;      ///< L = c + N - 2, messages sent by each rank
  int visits = 1;      ///< T = L + 1, the last visit only receives

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Throws `invalid_argument` for `workers < 1` or `components < 1`.
Shape make_shape(int workers, int components);

/// Class q that `rank` serves at visit `t` (1-based): ((rank - t) mod N) mod Q.
int class_at(const Shape& shape, int rank, int visit);

/// Phase p = (rank - q) mod N: everything that a rank does in class q depends only on p.
int phase_of(const Shape& shape, int rank, int class_index);

/// Chain j in 0..M-1, within its class, that phase p meets at visit t; requires t = p (mod Q).
int chain_at(const Shape& shape, int phase, int visit);

/// Visits of one class, numbered n = 0..visit_count-1; visit n happens at time visit_time(n) in 1..T.
int visit_count(const Shape& shape, int phase);
int visit_time(const Shape& shape, int phase, int number);

/// Number of the first visit of the class whose message holds every worker (t >= N); exactly
/// `terms` visits follow from there on: the samples.
int first_sample_visit(const Shape& shape, int phase);

}  // namespace cerar::runtime
