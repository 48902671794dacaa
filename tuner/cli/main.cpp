#include <CLI/CLI.hpp>

#include "runtime/program/program.h"
#include "tuner/cli/commands.h"

namespace {

void add_tune_options(CLI::App& app, cerar::tuner::TuneArguments& tune) {
  app.add_option("--topology", tune.topology, "name from configs/topologies, or a file");
  app.add_option("--workers", tune.workers, "ranks N (default: the topology's)");
  app.add_option("--components", tune.components, "only this number of components c");
  app.add_option("--max-error", tune.max_error,
                 "largest relative rms error allowed (default: 1e-3; where\nmessages have the type of the "
                 "vector at least what the exact ring has)");
  app.add_option("--max-condition", tune.max_condition, "largest condition number of a code");
  app.add_option(
      "--construction", tune.construction,
      "approximate codes: harmonic, vandermonde, optimized or differential (default: any but vandermonde)");
  app.add_option("--dtype", tune.data_type, "type of the vector: f32, bf16 or f16")->capture_default_str();
  app.add_option(
         "--wire", tune.wire,
         "type of the messages: native (that of the vector), auto (any),\nf32, bf16, f16, or blocks of "
         "fixed point: fx16, fx12, fx8")
      ->capture_default_str();
  app.add_option("--arch", tune.architectures,
                 "more GPU architectures to compile for: sm_80,sm_90,...;\nPTX "
                 "for newer ones, compute_80, always comes with them")
      ->delimiter(',');
  app.add_option(
      "--host-target", tune.host_target,
      "processor to compile host kernels for: x86-64, x86-64-v2, x86-64-v3 or x86-64-v4\n(default: this "
      "machine's, at most x86-64-v3)");
  app.add_option("--out", tune.out, "plan directory (default: plans/<topology>-n<workers>)");
  app.add_flag("--keep", tune.keep, "refuse to replace an existing plan");
  app.add_flag("--json", tune.json, "print the candidates and the choice as JSON");
  auto* pareto = app.add_flag("--pareto", tune.pareto,
                              "instead of a plan: the codes that no other betters in error and time at once");
  app.add_option("--size", tune.size, "size of the vectors of --pareto")
      ->capture_default_str()
      ->needs(pareto);
  app.add_option("--plot", tune.plot, "draw what --pareto finds: FILE.svg or FILE.png")->needs(pareto);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Designs a coded ring all-reduce for a topology and writes it as a plan directory.",
               "cerar-tune"};
  app.require_subcommand(0, 1);
  cerar::tuner::TuneArguments tune;
  add_tune_options(app, tune);

  std::string plan;
  bool json = false;
  auto* show = app.add_subcommand("show", "print a plan for people");
  show->add_option("plan", plan, "plan directory")->required();
  show->add_flag("--json", json, "as JSON");
  auto* check =
      app.add_subcommand("check", "regression test of plans: claims, sources, kernels, measured error");
  std::vector<std::string> plans;
  check->add_option("plan", plans, "plan directories")->required();

  cerar::tuner::CompareArguments comparison;
  auto* compare = app.add_subcommand("compare", "the constructions beside each other, for equal c");
  compare->add_option("--workers", comparison.workers, "ranks N")->capture_default_str();
  compare
      ->add_option("--components", comparison.components,
                   "numbers of components c: 9,16,... (default: N+1, 3N/2 and 2, 3, 4, 8 N)")
      ->delimiter(',');
  compare->add_flag("--json", comparison.json, "as JSON");

  return cerar::program::run_program(app, argc, argv, [&] {
    if (*show) return cerar::tuner::run_show(plan, json);
    if (*check) return cerar::tuner::run_check(plans);
    if (*compare) return cerar::tuner::run_compare(comparison);
    if (tune.topology.empty()) throw CLI::RequiredError("--topology");
    if (!tune.pareto) return cerar::tuner::run_tune(tune);
    if (!tune.max_error) tune.max_error = cerar::tuner::kWorthlessError;
    return cerar::tuner::run_pareto(tune);
  });
}
