#include "tests/software_gpu/plain_cubin.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string plain_cubin(int architecture, const std::vector<std::string>& kernels, const std::string& text) {
  std::string names(1, '\0');  // of sections and symbols alike
  std::string symbols(sizeof(Elf64_Sym), '\0');
  for (const std::string& kernel : kernels) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = SHN_ABS;
    names += kernel + '\0';
    append(symbols, symbol);
  }
  names += text;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 0x41;  // CUDA 13's
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_type = ET_EXEC;
  header.e_machine = EM_CUDA;
  header.e_version = EV_CURRENT;
  header.e_flags = 0x6000004u | static_cast<Elf64_Word>(architecture) << 8;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;

  Elf64_Shdr strings{}, table{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof header;
  strings.sh_size = names.size();
  table.sh_type = SHT_SYMTAB;
  table.sh_offset = (strings.sh_offset + strings.sh_size + 7) / 8 * 8;
  table.sh_size = symbols.size();
  table.sh_entsize = sizeof(Elf64_Sym);
  table.sh_link = 1;
  table.sh_info = 1;
  header.e_shoff = table.sh_offset + table.sh_size;

  std::string bytes;
  append(bytes, header);
  bytes += names;
  bytes.resize(table.sh_offset, '\0');
  bytes += symbols;
  append(bytes, Elf64_Shdr{});
  append(bytes, strings);
  append(bytes, table);
  return bytes;
}

std::string plain_ptx(int architecture, const std::vector<std::string>& kernels) {
  std::string text = "//\n.version 8.0\n.target sm_" + std::to_string(architecture) + "\n.address_size 64\n";
  for (const std::string& kernel : kernels) text += ".visible .entry " + kernel + "()\n{\n\tret;\n}\n";
  return text;
}

std::string plain_plan(const std::string& directory, const std::string& variant, int architecture,
                       const std::vector<std::string>& kernels, const std::string& host_library) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(directory) / "kernels";
  fs::create_directories(folder);
  const std::string cubin = plain_cubin(architecture, kernels);
  std::ofstream(folder / (variant + ".sm_" + std::to_string(architecture) + ".cubin"), std::ios::binary)
      << cubin;
  const fs::path host = folder / (variant + ".host.so");
  fs::remove(host);
  fs::create_symlink(fs::absolute(host_library), host);
  return cubin;
}
