#include <cstdio>
#include <exception>
#include <string>

#include "tests/bench/peers/inputs.h"

// bench_peers_inputs DIRECTORY RANKS COUNT: writes the inputs of a run.
int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_peers_inputs DIRECTORY RANKS COUNT\n");
    return 2;
  }
  cerar::bench::write_inputs(argv[1], std::stoi(argv[2]), std::stoull(argv[3]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_peers_inputs: %s\n", error.what());
  return 1;
}
