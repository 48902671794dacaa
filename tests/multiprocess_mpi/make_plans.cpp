// make_plans DIR: the plans that the cases load, DIR/<name>-n<ranks>.
#include <fmt/format.h>

#include <cstdio>

#include "generator/generate.h"
#include "tests/support/plans.h"

int main(int argc, char** argv) {
  using cerar::runtime::Construction;
  if (argc != 2) return 2;
  try {
    const std::filesystem::path directory = argv[1];
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    // With two workers a ring sends each element once already: there are exact codes only.
    for (const int workers : {2, 3, 4, 8})
      for (const auto& [name, construction, components] :
           {std::tuple{"differential", Construction::differential, 8 * workers},
            std::tuple{"plain", Construction::optimized, 2 * workers},
            std::tuple{"exact", Construction::ring, workers}, std::tuple{"whole", Construction::ring, 1}}) {
        if (workers == 2 && components > workers) continue;
        auto plan = cerar::test::design_plan(construction, workers, components);
        cerar::generator::generate(
            plan, {.architectures = {}, .out = directory / fmt::format("{}-n{}", name, workers)});
      }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_plans: %s\n", error.what());
    return 1;
  }
  return 0;
}
