#include "tests/software_gpu/memory/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace software_gpu {
namespace {

constexpr unsigned char kShiftedAbi = 8;  // CUDA 13 and newer; older: 7

/// CUDA 13 keeps the number of the SM in bits 8 to 15 of the flags, older versions in bits 0 to 7.
int architecture(const Elf64_Ehdr& header) {
  const unsigned low = header.e_flags & 0xff, high = header.e_flags >> 8 & 0xff;
  return static_cast<int>(header.e_ident[EI_ABIVERSION] >= kShiftedAbi ? high : low);
}

/// Directives, as the compiler writes them: ".target sm_80", ".visible .entry name(".
bool read_ptx(const char* text, Image* ptx) {
  const std::string_view all(text);
  constexpr std::string_view kTarget = "\n.target sm_", kEntry = ".entry ";
  const auto target = all.find(kTarget);
  if (target == std::string_view::npos) return false;
  ptx->is_ptx = true;
  ptx->architecture = std::atoi(text + target + kTarget.size());
  ptx->bytes = all.size();
  for (auto at = all.find(kEntry); at != std::string_view::npos; at = all.find(kEntry, at + 1)) {
    const auto name = at + kEntry.size();
    ptx->functions.emplace(all.substr(name, all.find('(', name) - name));
  }
  return true;
}

bool read_cubin(const void* image, Image* cubin) {
  const char* const bytes = static_cast<const char*>(image);
  Elf64_Ehdr header;
  // No more than the identification is read before it is known to be one.
  if (!bytes || std::memcmp(bytes, ELFMAG, SELFMAG) || bytes[EI_CLASS] != ELFCLASS64 ||
      bytes[EI_DATA] != ELFDATA2LSB)
    return false;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_machine != EM_CUDA || header.e_shentsize != sizeof(Elf64_Shdr)) return false;
  cubin->architecture = architecture(header);

  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::size_t end = std::max(header.e_shoff + sections.size() * sizeof(Elf64_Shdr),
                             header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type != SHT_NOBITS) end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  cubin->bytes = end;

  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const char* const names = bytes + sections[section.sh_link].sh_offset;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL)
        cubin->functions.insert(names + symbol.st_name);
    }
  }
  return true;
}

}  // namespace

bool read_image(const void* image, Image* read) {
  const char* const bytes = static_cast<const char*>(image);
  if (!bytes) return false;
  return std::memcmp(bytes, ELFMAG, SELFMAG) ? read_ptx(bytes, read) : read_cubin(image, read);
}

}  // namespace software_gpu
