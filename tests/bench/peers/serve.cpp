#include "tests/bench/peers/serve.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "tests/bench/peers/control.h"
#include "tests/bench/peers/inputs.h"

namespace cerar::bench {
namespace {

std::uint64_t interface_sent_bytes() {
  std::uint64_t bytes = 0;
  if (!(std::ifstream("/sys/class/net/eth0/statistics/tx_bytes") >> bytes))
    throw Error(ErrorCode::system, "eth0 has no counter of sent bytes; start workers on hosts of netns.py.");
  return bytes;
}

nlohmann::json run_once(const Contestant& contestant, const Inputs& inputs, std::vector<float>& data,
                        const std::function<void()>& barrier) {
  std::copy(inputs.input().begin(), inputs.input().end(), data.begin());
  if (contestant.before) contestant.before();
  barrier();
  const std::uint64_t sent_before = interface_sent_bytes();
  const auto begin = std::chrono::steady_clock::now();
  contestant.all_reduce();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  barrier();
  const std::uint64_t sent_bytes = interface_sent_bytes() - sent_before;
  if (contestant.after) contestant.after();
  nlohmann::json answer = {
      {"seconds", seconds}, {"sent_bytes", sent_bytes}, {"error", inputs.relative_error(data)}};
  if (contestant.describe) {
    cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
    contestant.describe(info);
    answer["components"] = info.components;
    answer["variant"] = info.variant;
    answer["claimed_error"] = info.claimed_error;
    answer["payload_bytes"] = info.sent_bytes;
  }
  return answer;
}

}  // namespace

void add_options(CLI::App& app, WorkerOptions& options) {
  app.add_option("--control", options.control, "Unix socket of the orchestrator")->required();
  app.add_option("--directory", options.directory, "directory of the inputs and of stores")->required();
  app.add_option("--job", options.job, "name of this worker's job")->required();
  app.add_option("--count", options.count, "f32 elements")->required();
}

void serve(const WorkerOptions& options, int rank, std::vector<float>& data,
           const std::vector<Contestant>& contestants, const std::function<void()>& barrier) {
  const Inputs inputs(options.directory, rank, options.count);
  Control control(options.control);
  nlohmann::json hello = {{"job", options.job}, {"rank", rank}, {"contestants", nlohmann::json::object()}};
  for (const auto& contestant : contestants)
    hello["contestants"][contestant.name] = contestant.all_reduce         ? ""
                                            : contestant.left_out.empty() ? "no reason given"
                                                                          : contestant.left_out;
  control.write_line(hello.dump());
  for (std::string name; control.read_line(name);) {
    const auto found = std::find_if(contestants.begin(), contestants.end(),
                                    [&](const Contestant& contestant) { return contestant.name == name; });
    if (found == contestants.end())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has no contestant {}; ask for one that it named.", options.job, name));
    try {
      control.write_line(run_once(*found, inputs, data, barrier).dump());
    } catch (const std::exception& error) {
      control.write_line(nlohmann::json{{"failed", error.what()}}.dump());
    }
  }
}

}  // namespace cerar::bench
