#include "generator/compile/nvrtc_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "runtime/base/error.h"

namespace cerar::generator {
namespace {

void require(nvrtcResult result, const char* what) {
  if (result != NVRTC_SUCCESS)
    throw Error(ErrorCode::internal,
                fmt::format("NVRTC failed to {}: {}.", what, nvrtcGetErrorString(result)));
}

class Program {
 public:
  explicit Program(const std::string& source) {
    // The name ends up in the cubin: it is fixed so that the bytes depend on the source alone.
    require(nvrtcCreateProgram(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr),
            "create a program");
  }
  ~Program() { nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--ptxas-options=-v"};
    const nvrtcResult result = nvrtcCompileProgram(program_, 4, options);
    if (result == NVRTC_ERROR_COMPILATION)
      throw Error(ErrorCode::invalid_plan,
                  fmt::format("kernels do not compile for {}; NVRTC says: {}", architecture, log()));
    require(result, "compile");
  }

  std::string log() const { return fetch(nvrtcGetProgramLogSize, nvrtcGetProgramLog, "fetch the log"); }
  std::string cubin() const { return fetch(nvrtcGetCUBINSize, nvrtcGetCUBIN, "fetch the cubin"); }
  std::string ptx() const {
    std::string text = fetch(nvrtcGetPTXSize, nvrtcGetPTX, "fetch the PTX");
    text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
    return text;
  }

 private:
  template <typename Size, typename Get>
  std::string fetch(Size size_of, Get get, const char* what) const {
    std::size_t size = 0;
    require(size_of(program_, &size), what);
    std::string bytes(size, '\0');
    require(get(program_, bytes.data()), what);
    return bytes;
  }

  nvrtcProgram program_ = nullptr;
};

/// Reads ptxas's report: "Compiling entry function 'x' for", "n bytes spill stores, n bytes spill loads",
/// "Used n registers".
std::vector<CompiledKernel> read_resources(const std::string& log) {
  static const std::regex entry("entry function '([^']+)'");
  static const std::regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const std::regex registers("Used ([0-9]+) registers");
  std::map<std::string, CompiledKernel> kernels;
  CompiledKernel* current = nullptr;
  std::istringstream lines(log);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, entry)) {
      current = &kernels[match[1]];
      current->entry = match[1];
    } else if (current && std::regex_search(line, match, spills)) {
      current->spill_bytes = std::stoi(match[1]) + std::stoi(match[2]);
    } else if (current && std::regex_search(line, match, registers)) {
      current->registers = std::stoi(match[1]);
    }
  }
  std::vector<CompiledKernel> result;
  for (auto& [name, kernel] : kernels) {
    if (kernel.registers == 0)
      throw Error(ErrorCode::internal, fmt::format("NVRTC reports no registers for kernel {}.", name));
    result.push_back(std::move(kernel));
  }
  if (result.empty())
    throw Error(ErrorCode::internal, "NVRTC reports no kernels; its log has an unknown form.");
  return result;
}

/// PTX holds strings as lists of numbers. What a source says of itself, as in CERAR_MARK("text"), stands as
/// text behind its PTX, where it is looked for as in cubins.
std::string marks_of(const std::string& source) {
  static const std::regex mark("\nCERAR_MARK\\(\"([^\"\n]*)\"\\)");
  std::string comments;
  for (std::sregex_iterator at(source.begin(), source.end(), mark), end; at != end; ++at)
    comments += "// " + (*at)[1].str() + "\n";
  return comments;
}

void require_supported(const std::string& architecture) {
  if (!can_compile_for(architecture))
    throw Error(ErrorCode::unsupported,
                fmt::format("architecture {} is not supported by this NVRTC; choose among {}.", architecture,
                            fmt::join(supported_architectures(), ", ")));
}

}  // namespace

bool nvrtc_available() { return true; }

std::string nvrtc_version() {
  int major = 0, minor = 0;
  require(nvrtcVersion(&major, &minor), "say its version");
  return fmt::format("{}.{}", major, minor);
}

bool is_ptx_target(const std::string& target) { return target.starts_with("compute_"); }

bool can_compile_for(const std::string& target) {
  const auto known = supported_architectures();
  const std::string architecture =
      is_ptx_target(target) ? "sm_" + target.substr(std::string("compute_").size()) : target;
  return std::find(known.begin(), known.end(), architecture) != known.end();
}

std::vector<std::string> supported_architectures() {
  int count = 0;
  require(nvrtcGetNumSupportedArchs(&count), "count its architectures");
  std::vector<int> numbers(static_cast<std::size_t>(count));
  require(nvrtcGetSupportedArchs(numbers.data()), "list its architectures");
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> names;
  for (const int number : numbers) names.push_back(fmt::format("sm_{}", number));
  return names;
}

Cubin compile_cubin(const std::string& source, const std::string& architecture) {
  require_supported(architecture);
  Program program(source);
  program.compile(architecture);
  return {program.cubin(), read_resources(program.log())};
}

std::string compile_ptx(const std::string& source, const std::string& architecture) {
  require_supported(architecture);
  Program program(source);
  program.compile(architecture);
  return program.ptx() + marks_of(source);
}

}  // namespace cerar::generator
