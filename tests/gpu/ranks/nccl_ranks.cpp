// gpu-nccl-ranks [--rank R --id-file FILE] [--leave] PLAN: all-reduces over NCCL. With --rank this
// process is one rank, on device 0, and rank 0 hands the id on in FILE; without, all ranks are threads of
// this process on a device each. --leave: at the end the last rank goes without a word, and the others must
// notice.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/measure/rank_threads.h"
#include "runtime/measure/time_limit.h"
#include "runtime/plan/plan_file.h"
#include "tests/gpu/ranks/rank.h"
#include "tests/gpu/support/driver_extras.h"
#include "tests/gpu/support/program.h"

namespace cerar::test {
namespace {

using namespace std::chrono_literals;
using runtime::require_success;
using Clock = std::chrono::steady_clock;

constexpr int kTimeoutMs = 20000;
// Also of what NCCL needs to start, which takes seconds where it is real.
int leave_timeout_ms() { return is_stand_in() ? 4000 : 10000; }
constexpr std::size_t kMost = 30011;

cerarNcclId_t shared_id(const std::string& file, int rank) {
  cerarNcclId_t id{};
  if (rank == 0) {
    require_success(cerarGetNcclId(&id));
    std::ofstream(file + ".part", std::ios::binary).write(id.bytes, sizeof id.bytes);
    std::filesystem::rename(file + ".part", file);
    return id;
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(kTimeoutMs);
  while (!std::filesystem::exists(file)) {
    if (Clock::now() > deadline)
      throw Error(ErrorCode::timeout, file + " did not appear; look at the output of rank 0.");
    std::this_thread::sleep_for(5ms);
  }
  const std::string bytes = read_file(file);
  std::memcpy(id.bytes, bytes.data(), std::min(bytes.size(), sizeof id.bytes));
  return id;
}

class Job {
 public:
  Job(std::string plan, int ranks, bool leave, bool is_process, Report& report)
      : plan_(std::move(plan)), ranks_(ranks), leave_(leave), is_process_(is_process), report_(report) {
    use_plan(plan_);
    const runtime::Input kind = input_for(plan_);
    for (const cerarDataType_t type : {cerarFloat32, cerarBfloat16})
      inputs_.emplace_back(kind, ranks, kMost, type);
  }

  void run(int rank, int device, const cerarNcclId_t& id) {
    try {
      cerarPlan_t plan = nullptr;
      require_success(cerarPlanLoad(&plan, plan_.c_str()));
      cerarComm_t comm = nullptr;
      const cerarResult_t made = cerarCommInitNcclId(&comm, &id, rank, ranks_, device, plan,
                                                     TimeLimit(leave_ ? leave_timeout_ms() : kTimeoutMs));
      cerarPlanFree(plan);
      require_success(made);
      const Rank self(rank, device, comm);
      all_calls(self);
      if (leave_) be_left(self);
    } catch (const std::exception& error) {
      report_.fail(fmt::format("{}, rank {} of {}: {}", plan_, rank, ranks_, error.what()));
    }
  }

 private:
  void all_calls(const Rank& self) {
    std::vector<std::string> problems;
    auto name_new = [&, at = std::size_t{0}](const std::string& what) mutable {
      for (; at < problems.size(); ++at)
        report_.fail(
            fmt::format("{}, {}, rank {} of {}: {}", plan_, what, self.rank(), ranks_, problems[at]));
    };
    for (const auto& inputs : inputs_)
      for (const CallCase& call : {CallCase{kMost, false, cerarSum}, CallCase{kMost, true, cerarAverage},
                                   CallCase{1, true, cerarSum}}) {
        self.call(inputs, call, problems);
        name_new(name_of(call, inputs.type()));
      }
    const CallCase captured{kMost, false, cerarSum};
    self.replay(inputs_[0], captured, problems);
    name_new("replayed from a graph, " + name_of(captured, cerarFloat32));
  }

  // The next call of a shape that is known: nothing in it waits on the host, so the fault shows later.
  void be_left(const Rank& self) {
    if (self.rank() == ranks_ - 1) {
      if (is_process_) leave();
      return;
    }
    const runtime::OnDevice current(*self.device());
    const GuardedVector vector(self.device(), kMost * sizeof(float), self.stream());
    vector.upload(inputs_[0].of(self.rank()));
    const auto reduce = [&] {
      return cerarAllReduce(vector.data(), vector.data(), kMost, cerarFloat32, cerarSum, self.comm(),
                            self.stream());
    };
    cerarResult_t error = reduce();
    const auto deadline = Clock::now() + std::chrono::milliseconds(3 * leave_timeout_ms() + 10000);
    while (error == cerarSuccess && Clock::now() < deadline) {
      std::this_thread::sleep_for(20ms);
      require_success(cerarCommGetAsyncError(self.comm(), &error));
    }
    const std::string sentence = cerarGetLastError();
    if (error != cerarTimeout && error != cerarPeerFailed && error != cerarSystemError)
      report_.fail(fmt::format("{}, rank {}: no error after rank {} left, but '{}'", plan_, self.rank(),
                               ranks_ - 1, cerarGetErrorString(error)));
    if (reduce() == cerarSuccess)
      report_.fail(fmt::format("{}, rank {}: the communicator still takes calls", plan_, self.rank()));
    std::printf("rank %d noticed: %s\n", self.rank(), sentence.c_str());
    runtime::check(runtime::driver().cuStreamSynchronize(self.stream()), "ending what was enqueued");
  }

  // Without a goodbye to the communicator, but not before the network has sent what the others still read.
  [[noreturn]] void leave() const {
    std::this_thread::sleep_for(1s);
    std::printf("FIGURE left without a word\n");
    std::fflush(stdout);
    _exit(report_.failures() ? 1 : 0);
  }

  const std::string plan_;
  const int ranks_;
  const bool leave_, is_process_;
  Report& report_;
  std::vector<RankInputs> inputs_;
};

std::string run_as_threads(Job& job, int ranks) {
  int devices = 0;
  runtime::driver().cuDeviceGetCount(&devices);
  if (devices < ranks)
    throw Skip{fmt::format("threads need a device per rank: {} ranks, {} devices", ranks, devices)};
  cerarNcclId_t id{};
  require_success(cerarGetNcclId(&id));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { job.run(rank, rank, id); });
  threads.clear();
  return fmt::format("{} ranks as threads", ranks);
}

}  // namespace
}  // namespace cerar::test

int main(int argc, char** argv) {
  using namespace cerar::test;
  return run_program([&](Report& report) -> std::string {
    const Arguments arguments(argc, argv);
    const auto plans = arguments.rest({"--rank", "--id-file"});
    if (plans.size() != 1) throw cerar::Error(cerar::ErrorCode::invalid_argument, "give one plan directory.");
    const int ranks = cerar::runtime::load_plan(plans[0]).workers;
    const int rank = arguments.number("--rank", -1);
    Job job(plans[0], ranks, arguments.flag("--leave"), rank >= 0, report);
    if (rank < 0) return run_as_threads(job, ranks);
    job.run(rank, 0, shared_id(arguments.value("--id-file", "nccl-id"), rank));
    return fmt::format("rank {} of {}", rank, ranks);
  });
}
