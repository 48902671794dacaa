#include "generator/compile/nvrtc_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

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

/// What stands in a text between two others, and where that ends.
struct Found {
  std::string_view text;
  std::size_t end;
};
std::optional<Found> find_between(std::string_view text, std::string_view before, std::string_view after,
                                  std::size_t from = 0) {
  const auto start = text.find(before, from);
  if (start == text.npos) return std::nullopt;
  const auto begin = start + before.size(), end = text.find(after, begin);
  if (end == text.npos) return std::nullopt;
  return Found{text.substr(begin, end - begin), end};
}

/// The number in front of these words.
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const auto end = line.find(words);
  if (end == line.npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  if (std::from_chars(line.data() + begin, line.data() + end, number).ec != std::errc()) return std::nullopt;
  return number;
}

/// Reads ptxas's report: "Compiling entry function 'x' for", "n bytes spill stores, n bytes spill loads",
/// "Used n registers". Without std::regex, as everything that several threads do: each expression that is
/// made writes into the locale that they share.
std::vector<CompiledKernel> read_resources(const std::string& log) {
  std::map<std::string, CompiledKernel> kernels;
  CompiledKernel* current = nullptr;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (const auto entry = find_between(line, "entry function '", "'")) {
      current = &kernels[std::string(entry->text)];
      current->entry = entry->text;
      continue;
    }
    if (!current) continue;
    const auto stores = number_before(line, " bytes spill stores"),
               loads = number_before(line, " bytes spill loads");
    if (stores && loads) current->spill_bytes = *stores + *loads;
    if (const auto registers = number_before(line, " registers")) current->registers = *registers;
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
std::string marks_of(std::string_view source) {
  std::string comments;
  std::size_t from = 0;
  while (const auto mark = find_between(source, "\nCERAR_MARK(\"", "\")", from)) {
    comments += fmt::format("// {}\n", mark->text);
    from = mark->end;
  }
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
