#include "generator/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "generator/compile/host_compiler.h"
#include "generator/compile/nvrtc_compiler.h"
#include "generator/plan_text.h"
#include "generator/publish.h"
#include "generator/specialise/specialise.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"

namespace cerar::generator {
namespace {

/// Runs task(0..count-1) on as many threads as there are cores, or as the system grants: this one alone, if
/// need be. Waits for all; of several exceptions the one of the lowest index is thrown.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  try {
    threads.reserve(std::min(cores, count));
    for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit on threads, or no memory for a stack: the others do the work.
  } catch (const std::bad_alloc&) {
  }
  work();
  threads.clear();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

constexpr const char* kHost = "host";

/// One file to compile, and what came of it.
struct Job {
  std::size_t variant;
  std::string target;  ///< "host" or an architecture
  std::string bytes = {};
  std::vector<CompiledKernel> kernels = {};
};

void check_names(const runtime::Plan& plan) {
  std::set<std::string> seen;
  for (const runtime::Variant& variant : plan.variants) {
    const bool is_safe = !variant.name.empty() && variant.name[0] != '.' &&
                         std::all_of(variant.name.begin(), variant.name.end(), [](unsigned char c) {
                           return c < 128 && (std::isalnum(c) || c == '_' || c == '-' || c == '.');
                         });
    if (!is_safe)
      throw Error(
          ErrorCode::invalid_plan,
          fmt::format("variant name '{}' cannot be a file name; use letters, digits, '_', '-' and '.'.",
                      variant.name));
    if (!seen.insert(variant.name).second)
      throw Error(ErrorCode::invalid_plan,
                  fmt::format("two variants are called {}; names must differ.", variant.name));
  }
}

std::string file_of(const runtime::Variant& variant, const std::string& target) {
  if (target == "source") return fmt::format("kernels/{}.cu", variant.name);
  return fmt::format("kernels/{}.{}", variant.name,
                     target == kHost ? "host.so" : target + (is_ptx_target(target) ? ".ptx" : ".cubin"));
}

void record(runtime::Variant& variant, const std::string& target, const std::string& bytes) {
  variant.artefacts.push_back({target, file_of(variant, target), sha256_hex(bytes)});
}

void record_resources(runtime::Variant& variant, const Job& job) {
  for (runtime::Kernel& kernel : variant.kernels) {
    const auto found =
        std::find_if(job.kernels.begin(), job.kernels.end(),
                     [&](const CompiledKernel& compiled) { return compiled.entry == kernel.entry; });
    if (found == job.kernels.end())
      throw Error(ErrorCode::internal, fmt::format("kernel {} is missing from what was compiled for {}.",
                                                   kernel.entry, job.target));
    kernel.resources.push_back({job.target, found->registers, found->spill_bytes});
  }
}

/// The size of blocks that leaves most threads resident on a multiprocessor of 65536 registers, which are
/// given to warps 256 at a time, and 2048 threads; of equals 256, then the larger.
int block_threads(const runtime::Kernel& kernel) {
  int registers = 1;
  for (const auto& use : kernel.resources) registers = std::max(registers, use.registers);
  const int per_warp = (registers * 32 + 255) / 256 * 256;
  int best = 0, best_resident = 0;
  for (const int threads : {256, 512, 128}) {
    const int blocks = std::min(2048 / threads, 65536 / (per_warp * threads / 32));
    if (blocks * threads > best_resident) {
      best = threads;
      best_resident = blocks * threads;
    }
  }
  return best;
}

std::vector<Job> jobs_of(const runtime::Plan& plan, const GenerateOptions& options) {
  std::vector<std::string> targets =
      options.host ? std::vector<std::string>{kHost} : std::vector<std::string>{};
  for (const std::string& architecture : options.architectures)
    if (std::find(targets.begin(), targets.end(), architecture) == targets.end())
      targets.push_back(architecture);
  std::vector<Job> jobs;
  for (std::size_t variant = 0; variant < plan.variants.size(); ++variant)
    for (const std::string& target : targets) jobs.push_back({.variant = variant, .target = target});
  return jobs;
}

}  // namespace

void generate(runtime::Plan& plan, const GenerateOptions& options) {
  check_names(plan);
  StagedDirectory::check(options.out, options.replace);
  runtime::Plan result = plan;
  result.host_target = !options.host ? "" : options.host_target.empty() ? host_target() : options.host_target;
  result.nvrtc = options.architectures.empty() ? "" : nvrtc_version();
  std::mutex progress_mutex;
  const auto report = [&](const std::string& line) {
    const std::lock_guard lock(progress_mutex);
    if (options.progress) options.progress(line);
  };

  std::vector<std::string> sources(result.variants.size());
  for_each_in_parallel(sources.size(), [&](std::size_t i) {
    runtime::Variant& variant = result.variants[i];
    report("specialising " + variant.name);
    KernelSpec spec = make_kernel_spec(variant);
    variant.kernels.clear();
    variant.artefacts.clear();
    for (const std::string& role : roles(spec.family))
      variant.kernels.push_back({role, fmt::format("cerar_{}_{}", spec.prefix, role)});
    spec.mark = runtime::kernel_mark(variant);
    sources[i] = specialise(spec);
    record(variant, "source", sources[i]);
    report("specialised " + variant.name);
  });

  std::vector<Job> jobs = jobs_of(result, options);
  for_each_in_parallel(jobs.size(), [&](std::size_t i) {
    Job& job = jobs[i];
    const std::string what = fmt::format("{} for {}", result.variants[job.variant].name,
                                         job.target == kHost ? result.host_target : job.target);
    report("compiling " + what);
    if (job.target == kHost) {
      job.bytes = compile_host(sources[job.variant], result.host_target);
    } else if (is_ptx_target(job.target)) {
      job.bytes = compile_ptx(sources[job.variant], job.target);
    } else {
      Cubin cubin = compile_cubin(sources[job.variant], job.target);
      job.bytes = std::move(cubin.bytes);
      job.kernels = std::move(cubin.kernels);
    }
    report("compiled " + what);
  });

  StagedDirectory directory(options.out, options.replace);
  for (std::size_t i = 0; i < sources.size(); ++i)
    directory.write(file_of(result.variants[i], "source"), sources[i]);
  for (const Job& job : jobs) {
    runtime::Variant& variant = result.variants[job.variant];
    if (const auto problem = runtime::mark_problem(variant, job.bytes))
      throw Error(ErrorCode::internal,
                  fmt::format("what was compiled of {} for {} {}.", variant.name, job.target, *problem));
    record(variant, job.target, job.bytes);
    if (job.target != kHost && !is_ptx_target(job.target)) record_resources(variant, job);
    directory.write(variant.artefacts.back().file, job.bytes);
  }
  for (runtime::Variant& variant : result.variants)
    for (runtime::Kernel& kernel : variant.kernels) kernel.threads = block_threads(kernel);
  const std::string text = plan_text(result);
  if (text.size() > runtime::kMostPlanBytes)
    throw Error(ErrorCode::unsupported,
                fmt::format("the plan would take {} bytes, and at most {} are read; choose fewer workers or "
                            "components that mix less.",
                            text.size(), runtime::kMostPlanBytes));
  directory.write(runtime::kPlanFileName, text);
  directory.publish();
  const std::string key = runtime::kDigestKey;
  result.digest = text.substr(text.rfind(key) + key.size(), 64);
  plan = std::move(result);
}

}  // namespace cerar::generator
