#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "runtime/include/cerar_gloo.h"
#include "runtime/measure/rank_threads.h"
#include "tests/bench/peers/serve.h"

// bench_peers_gloo: one rank of the contestants that talk over Gloo: its own all-reduces, and CERAR's exact
// ring and plans over CERAR's Gloo transport. Gloo's algorithms have a context of their own; communicators
// make theirs.
namespace {

using namespace cerar;
using namespace cerar::bench;

struct Arguments : WorkerOptions {
  int rank = 0, ranks = 0;
  std::string interface_name = "eth0";
  std::vector<std::string> plans;  // NAME=DIRECTORY; no directory for the exact ring
};

std::shared_ptr<gloo::Context> connect(const Arguments& arguments) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = arguments.interface_name;
  attributes.ai_family = AF_INET;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  const std::string path = arguments.directory + "/store-of-gloo";
  std::filesystem::create_directories(path);
  gloo::rendezvous::FileStore store(path);
  auto context = std::make_shared<gloo::rendezvous::Context>(arguments.rank, arguments.ranks);
  context->connectFullMesh(store, device);
  return context;
}

template <class Algorithm>
Contestant gloo_contestant(const char* name, const std::shared_ptr<gloo::Context>& context,
                           std::vector<float>& data) {
  Contestant contestant{.name = name};
  try {
    auto algorithm =
        std::make_shared<Algorithm>(context, std::vector<float*>{data.data()}, static_cast<int>(data.size()));
    contestant.all_reduce = [algorithm] { algorithm->run(); };
  } catch (const std::exception& error) {
    contestant.left_out = error.what();
  }
  return contestant;
}

// The same sum in 16 bits: what a user who can live with an error would take instead.
Contestant gloo_half_contestant(const std::shared_ptr<gloo::Context>& context, std::vector<float>& data) {
  Contestant contestant{.name = "gloo-ring-chunked-f16"};
  try {
    auto halves = std::make_shared<std::vector<gloo::float16>>(data.size());
    auto algorithm = std::make_shared<gloo::AllreduceRingChunked<gloo::float16>>(
        context, std::vector<gloo::float16*>{halves->data()}, static_cast<int>(data.size()));
    contestant.before = [halves, &data] {
      for (std::size_t i = 0; i < data.size(); ++i) (*halves)[i] = gloo::cpu_float2half_rn(data[i]);
    };
    contestant.all_reduce = [halves, algorithm] { algorithm->run(); };
    contestant.after = [halves, &data] {
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = gloo::cpu_half2float((*halves)[i]);
    };
  } catch (const std::exception& error) {
    contestant.left_out = error.what();
  }
  return contestant;
}

std::shared_ptr<cerarComm> connect_cerar(const Arguments& arguments, const std::string& name,
                                         const std::string& plan_directory) {
  const std::string path = arguments.directory + "/store-of-" + name;
  std::filesystem::create_directories(path);
  cerarPlan_t plan = nullptr;
  if (!plan_directory.empty()) runtime::require_success(cerarPlanLoad(&plan, plan_directory.c_str()));
  cerarComm_t comm = nullptr;
  const cerarResult_t result =
      cerarCommInitGloo(&comm, arguments.rank, arguments.ranks, plan, ("file:" + path).c_str(),
                        arguments.interface_name.c_str(), nullptr);
  if (plan) cerarPlanFree(plan);
  runtime::require_success(result);
  return {comm, [](cerarComm_t held) { cerarCommDestroy(held); }};
}

Contestant cerar_contestant(const Arguments& arguments, const std::string& named_plan,
                            std::vector<float>& data) {
  const auto equals = named_plan.find('=');
  Contestant contestant{.name = named_plan.substr(0, equals)};
  try {
    auto comm = connect_cerar(arguments, contestant.name,
                              equals == std::string::npos ? "" : named_plan.substr(equals + 1));
    contestant.all_reduce = [comm, &data] {
      runtime::require_success(
          cerarAllReduce(data.data(), data.data(), data.size(), cerarFloat32, cerarSum, comm.get(), nullptr));
    };
    contestant.describe = [comm](cerarCallInfo_t& info) {
      runtime::require_success(cerarCommLastCall(comm.get(), &info));
    };
  } catch (const std::exception& error) {
    contestant.left_out = error.what();
  }
  return contestant;
}

void run(const Arguments& arguments) {
  const auto context = connect(arguments);
  std::vector<float> data(arguments.count);
  std::vector<Contestant> contestants = {
      gloo_contestant<gloo::AllreduceRing<float>>("gloo-ring", context, data),
      gloo_contestant<gloo::AllreduceRingChunked<float>>("gloo-ring-chunked", context, data),
      gloo_contestant<gloo::AllreduceBcube<float>>("gloo-bcube", context, data),
      gloo_contestant<gloo::AllreduceHalvingDoubling<float>>("gloo-halving-doubling", context, data),
      gloo_half_contestant(context, data)};
  for (const auto& plan : arguments.plans) contestants.push_back(cerar_contestant(arguments, plan, data));
  serve(arguments, arguments.rank, data, contestants, [&] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"One rank of the contestants over Gloo; peers.py starts it.", "bench_peers_gloo"};
  Arguments arguments;
  add_options(app, arguments);
  app.add_option("--rank", arguments.rank, "this rank")->required();
  app.add_option("--ranks", arguments.ranks, "number of ranks")->required();
  app.add_option("--interface", arguments.interface_name, "network interface")->capture_default_str();
  app.add_option("--plan", arguments.plans, "NAME=DIRECTORY of a CERAR plan, or a NAME for the exact ring");
  CLI11_PARSE(app, argc, argv);
  try {
    run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_peers_gloo: rank %d: %s\n", arguments.rank, error.what());
    return 1;
  }
}
