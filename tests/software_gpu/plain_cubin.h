#pragma once

#include <string>
#include <vector>

/// The smallest file that a cubin's headers can be read from: 64-bit ELF of machine EM_CUDA, with a table of
/// global functions of these names, a text, and no code. For tests on machines without NVRTC; no GPU runs it.
std::string plain_cubin(int architecture, const std::vector<std::string>& kernels,
                        const std::string& text = "");

/// PTX of these kernels without code, likewise.
std::string plain_ptx(int architecture, const std::vector<std::string>& kernels);

/// Writes `<directory>/kernels/<variant>.sm_<architecture>.cubin` and links `<variant>.host.so` beside it to
/// a library. The directory then is one for software_gpu_use. Returns the cubin.
std::string plain_plan(const std::string& directory, const std::string& variant, int architecture,
                       const std::vector<std::string>& kernels, const std::string& host_library);
