#include "runtime/program/available_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

namespace cerar::program {
namespace {

namespace fs = std::filesystem;

/// "Name: number ..." or "name number" on each line.
std::map<std::string, std::uint64_t> read_table(const fs::path& file) {
  std::map<std::string, std::uint64_t> table;
  std::ifstream stream(file);
  std::string name, rest;
  for (std::uint64_t value = 0; stream >> name >> value; std::getline(stream, rest)) {
    if (name.ends_with(':')) name.pop_back();
    table[name] = value;
  }
  return table;
}

/// Nothing for "max" and for files that are not there.
std::optional<std::uint64_t> read_number(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

std::uint64_t left(std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); }

void add_machine(const fs::path& root, std::vector<MemoryBound>& bounds) {
  auto table = read_table(root / "proc/meminfo");  // in KiB
  if (table.count("MemAvailable") > 0)
    bounds.push_back(
        {"the memory of this machine", (table["MemAvailable"] + table["SwapFree"]) << 10, false});
}

struct GroupFiles {
  const char *limit, *usage, *cached;
};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};

/// A group and those that it stands in. A container may see its own group as the root of all.
void add_groups(const fs::path& mount, fs::path group, const GroupFiles& files,
                std::vector<MemoryBound>& bounds) {
  for (;; group = group.parent_path()) {
    const fs::path directory = mount / group.relative_path();
    const auto limit = read_number(directory / files.limit), usage = read_number(directory / files.usage);
    // Version 1 writes "no limit" as a number beyond any memory.
    if (limit && usage && *limit < std::uint64_t{1} << 60) {
      const std::uint64_t cached = read_table(directory / "memory.stat")[files.cached];
      bounds.push_back({fmt::format("the memory limit of the control group {}", group.string()),
                        left(*limit, left(*usage, cached)), false});
    }
    if (!group.has_relative_path()) return;
  }
}

/// Lines of /proc/self/cgroup are "number:controllers:group".
template <typename Visit>
void for_each_group(const fs::path& root, const Visit& visit) {
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    visit(fmt::format(",{},", line.substr(first + 1, second - first - 1)), line.substr(second + 1));
  }
}

void add_limits(const fs::path& root, std::vector<MemoryBound>& bounds) {
  std::ifstream stream(root / "proc/self/statm");
  std::uint64_t pages[6] = {};  // size, resident, shared, text, lib, data
  for (auto& number : pages) stream >> number;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto add = [&](auto resource, const char* name, std::uint64_t used) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bounds.push_back({name, left(limit.rlim_cur, used * page), true});
  };
  add(RLIMIT_AS, "the limit on virtual memory (ulimit -v)", pages[0]);
  add(RLIMIT_DATA, "the limit on data (ulimit -d)", pages[5]);
}

}  // namespace

std::vector<MemoryBound> memory_bounds(const fs::path& root) {
  std::vector<MemoryBound> bounds;
  add_machine(root, bounds);
  const fs::path mount = root / "sys/fs/cgroup";
  for_each_group(root, [&](const std::string& controllers, const std::string& group) {
    if (controllers == ",,")
      add_groups(mount, group, kVersion2, bounds);
    else if (controllers.find(",memory,") != std::string::npos)
      add_groups(mount / "memory", group, kVersion1, bounds);
  });
  add_limits(root, bounds);
  return bounds;
}

std::string memory_domain(const fs::path& root) {
  std::string domain;
  std::ifstream(root / "proc/sys/kernel/random/boot_id") >> domain;
  for_each_group(root, [&](const std::string& controllers, const std::string& group) {
    if (controllers == ",," || controllers.find(",memory,") != std::string::npos) domain += " " + group;
  });
  // Containers may all see their groups as the root, but are hosts of other names.
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return domain + " " + host;
}

}  // namespace cerar::program
