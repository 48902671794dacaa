// Who comes to the ports where ranks wait for each other, and who inherits their connections.
#include <dirent.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/gloo/meeting/socket.h"
#include "runtime/gloo/meeting/store.h"
#include "tests/multiprocess/job.h"
#include "tests/multiprocess/job_plans.h"

namespace cerar::test {
namespace {

namespace fs = std::filesystem;
using runtime::Descriptor;
using namespace std::chrono_literals;

std::string sum_of_ranks(cerarComm_t comm, int rank, int ranks) {
  std::vector<float> vector(5000, static_cast<float>(rank + 1));
  const auto answer = answer_of(
      cerarAllReduce(vector.data(), vector.data(), vector.size(), cerarFloat32, cerarSum, comm, nullptr));
  for (const float x : vector)
    if (answer == "ok" && x != static_cast<float>(ranks * (ranks + 1) / 2)) return "wrong sum";
  return answer;
}

// The ports that ranks have told in a directory, but for those in `known`.
std::vector<int> told_ports(const std::string& directory, std::set<int>& known) {
  std::vector<int> ports;
  std::error_code unknown;
  for (auto entry = fs::directory_iterator(directory, unknown); !unknown && entry != fs::directory_iterator();
       entry.increment(unknown)) {
    if (entry->path().filename().string().find(".address.") == std::string::npos) continue;
    std::ifstream file(entry->path());
    std::string address, interface_name;
    file >> address >> interface_name;
    for (int port = 0; file >> port;)
      if (port != 0 && known.insert(port).second) ports.push_back(port);
  }
  return ports;
}

// One connection of each kind: one that is reset at once, one that is closed, garbage, half a word, silence.
void disturb(int port, std::vector<Descriptor>& kept) {
  for (const int kind : {1, 0, 2, 3, 4}) {
    auto [socket, error] = runtime::connect_to(*runtime::parse_address("127.0.0.1", port), Deadline(1s));
    if (!socket) return;
    const linger reset{1, 0};
    if (kind == 1) ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    const std::string garbage(kind == 2 ? 4096 : 5, kind == 2 ? '\x01' : 'a');
    if (kind == 2 || kind == 3) ::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    if (kind >= 2) kept.push_back(std::move(socket));
  }
}

// Rank 2 meets the others, and comes to their ports as strangers do. Gloo alone ends their processes then.
TEST(Strangers, ThatComeBeforeTheOtherRankEndNoProcess) {
  const std::string text = fresh_store();
  Job job(3, [&](int rank) -> std::string {
    if (rank != 2) {
      const Comm comm = join(rank, 3, "", text);
      return "joined";
    }
    const Deadline deadline(60s);
    const auto store = runtime::open_store(text, rank, 3, deadline);
    store->meet(deadline);
    std::vector<Descriptor> kept;
    for (const char* key : {"address.0", "address.1"}) {
      std::istringstream told(store->await(key, deadline).value_or(""));
      std::string address, interface_name;
      told >> address >> interface_name;
      for (int port = 0; told >> port;)
        if (port != 0) disturb(port, kept);
    }
    ::usleep(300000);  // a while in which they could be taken for ranks
    const auto count = kept.size();
    kept.clear();
    ::usleep(100000);
    store->fail("rank 2 has been a stranger.");
    return std::to_string(count);
  });
  EXPECT_EQ(job.await(2).answer, "24");  // three kinds at four ports of two ranks
  for (const Ending& ending : job.finish()) {
    EXPECT_EQ(ending.signal, 0);
    EXPECT_THAT(ending.answer, testing::HasSubstr("rank 2 has been a stranger."));
  }
}

TEST(Strangers, AtThePortsWhereRanksWaitHarmNobody) {
  constexpr int kRanks = 4;
  for (int time = 0; time < 3; ++time) {
    const std::string store = fresh_store();
    Job job(kRanks + 1, [&](int rank) -> std::string {
      if (rank < kRanks) {
        const Comm comm = join(rank, kRanks, "", store);
        return sum_of_ranks(comm.get(), rank, kRanks);
      }
      std::set<int> known;
      std::vector<Descriptor> kept;
      while (known.size() < kRanks * (kRanks + 1)) {
        for (const int port : told_ports(store.substr(5), known)) disturb(port, kept);
        if (!known.empty() && fs::is_empty(store.substr(5))) break;  // they have met
      }
      return "";
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      const Ending ending = job.await(rank);
      EXPECT_EQ(ending.answer, "ok") << rank;
      EXPECT_EQ(ending.signal, 0) << rank;
    }
    job.signal(kRanks, SIGKILL);
    job.await(kRanks);
  }
}

std::string links_of(pid_t process) {
  std::string links;
  const fs::path directory = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::error_code gone;
    const std::string link = fs::read_symlink(entry.path(), gone).string();
    if (link.starts_with("socket:") || link.starts_with("anon_inode:")) links += link + " ";
  }
  return links;
}

// A program that the application starts: the sockets, epoll and event descriptors that it has.
std::string inherited() {
  int ready[2];
  if (::pipe(ready) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ready[1], 1);
    ::execlp("sh", "sh", "-c", "echo; exec sleep 60", nullptr);
    ::_exit(1);
  }
  char line = 0;
  static_cast<void>(::read(ready[0], &line, 1));  // the program runs
  const std::string links = links_of(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  return links;
}

TEST(Strangers, ProgramsThatTheApplicationStartsInheritNoConnection) {
  for (const std::string& store : {fresh_store(), fresh_tcp_store()})
    expect_all(3, [&](int rank) -> std::string {
      const std::string before = inherited();
      const Comm comm = join(rank, 3, "", store);
      const std::string after = inherited();
      if (after != before) return "inherits " + after;
      return sum_of_ranks(comm.get(), rank, 3);
    });
}

}  // namespace
}  // namespace cerar::test
