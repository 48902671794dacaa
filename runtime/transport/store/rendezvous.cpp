#include "runtime/transport/store/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/store/poll.h"

namespace cerar::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRoster = "roster", kGathering = "gathering", kGo = "go", kFailed = "failed";
const std::string kAbsent = "-";

std::string hello_key(int rank) { return fmt::format("hello.{}", rank); }
std::string acknowledgement_key(int rank) { return fmt::format("acknowledged.{}", rank); }

std::string fresh_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Processes with the same words here reach each other over loopback.
std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code unknown;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", unknown);
  return boot + network.string();
}

// One line, so that hellos fit into the lines of a roster.
std::string make_hello(int ranks) { return fmt::format("{} {} {}", fresh_id(), ranks, machine()); }

struct Hello {
  std::string nonce, machine;
  int ranks = 0;
};

Hello parse_hello(const std::string& text) {
  Hello hello;
  std::istringstream(text) >> hello.nonce >> hello.ranks >> hello.machine;
  return hello;
}

struct Roster {
  std::string id, state, sentence;
  std::vector<std::string> hellos;  // [rank]; kAbsent for those that did not come
};

std::string write(const Roster& roster) {
  std::string text = fmt::format("{}\n{}\n{}\n", roster.id, roster.state, roster.sentence);
  for (const auto& hello : roster.hellos) text += hello + "\n";
  return text;
}

// Nothing for what no rank 0 of `ranks` ranks wrote.
std::optional<Roster> parse_roster(const std::optional<std::string>& text, int ranks) {
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  Roster roster;
  std::getline(lines, roster.id);
  std::getline(lines, roster.state);
  std::getline(lines, roster.sentence);
  for (std::string hello; std::getline(lines, hello);) roster.hellos.push_back(hello);
  return static_cast<int>(roster.hellos.size()) == ranks ? std::optional(roster) : std::nullopt;
}

bool on_one_machine(const Roster& roster) {
  const std::string first = parse_hello(roster.hellos[0]).machine;
  return std::all_of(roster.hellos.begin(), roster.hellos.end(),
                     [&](const std::string& hello) { return parse_hello(hello).machine == first; });
}

std::string did_not_come(const Store& store, const std::vector<int>& missing,
                         std::chrono::milliseconds timeout) {
  return fmt::format(
      "rank(s) {} did not come to the store {} within {} ms; start them with the same store and number of "
      "ranks.",
      fmt::join(missing, ", "), store.name(), timeout.count());
}

std::vector<int> not_acknowledged(Store& store, const Roster& roster, int from) {
  std::vector<int> missing;
  for (int rank = from; rank < static_cast<int>(roster.hellos.size()); ++rank)
    if (roster.hellos[static_cast<std::size_t>(rank)] == kAbsent ||
        store.get(acknowledgement_key(rank)) != roster.id)
      missing.push_back(rank);
  return missing;
}

// Takes the hellos that are there into the roster; a change makes it a new one.
void renew(Store& store, Roster& roster, int ranks) {
  bool changed = roster.id.empty();
  for (int rank = 1; rank < ranks; ++rank) {
    std::string hello = store.get(hello_key(rank)).value_or(kAbsent);
    if (parse_hello(hello).ranks != ranks) hello = kAbsent;
    auto& known = roster.hellos[static_cast<std::size_t>(rank)];
    changed = changed || hello != known;
    known = hello;
  }
  if (!changed) return;
  roster.id = fresh_id();
  store.set(kRoster, write(roster));
}

Meeting gather(Store& store, int ranks, std::chrono::milliseconds timeout) {
  Roster roster{{}, kGathering, {}, std::vector<std::string>(static_cast<std::size_t>(ranks), kAbsent)};
  roster.hellos[0] = make_hello(ranks);
  std::vector<bool> came(static_cast<std::size_t>(ranks), true);
  std::fill(came.begin() + 1, came.end(), false);
  std::vector<int> missing;
  const bool complete = poll_until(Clock::now() + timeout, [&] {
    renew(store, roster, ranks);
    missing = not_acknowledged(store, roster, 1);
    for (int rank = 1; rank < ranks; ++rank)
      if (std::find(missing.begin(), missing.end(), rank) == missing.end())
        came[static_cast<std::size_t>(rank)] = true;
    return missing.empty();
  });
  roster.state = complete ? kGo : kFailed;
  if (complete) {
    store.set(kRoster, write(roster));
    return {roster.id, on_one_machine(roster)};
  }
  // Some may have waited as long as they would, and left; those that never came are to blame.
  std::vector<int> never = missing;
  std::erase_if(never, [&](int rank) { return came[static_cast<std::size_t>(rank)]; });
  roster.sentence = did_not_come(store, never.empty() ? missing : never, timeout);
  roster.id = fresh_id();
  for (const int rank : missing) roster.hellos[static_cast<std::size_t>(rank)] = kAbsent;
  store.set(kRoster, write(roster));
  // Those that came shall read it before a store that this rank serves is gone.
  poll_until(Clock::now() + std::chrono::seconds(1),
             [&] { return not_acknowledged(store, roster, 1).size() == missing.size(); });
  clean_up(store, 0);
  throw Error(ErrorCode::timeout, roster.sentence);
}

std::vector<int> missing_without_roster(Store& store, int rank, int ranks) {
  std::vector<int> missing = {0};
  for (int other = 1; other < ranks; ++other)
    if (other != rank && !store.get(hello_key(other))) missing.push_back(other);
  return missing;
}

Meeting attend(Store& store, int rank, int ranks, std::chrono::milliseconds timeout) {
  const std::string mine = make_hello(ranks);
  std::optional<Roster> roster;
  std::string acknowledged;
  poll_until(Clock::now() + timeout, [&] {
    roster = parse_roster(store.get(kRoster), ranks);
    if (roster && roster->hellos[static_cast<std::size_t>(rank)] != mine) roster.reset();
    if (!roster) {  // a server that ended with an earlier job takes the hello along
      if (store.get(hello_key(rank)) != mine) store.set(hello_key(rank), mine);
      return false;
    }
    if (roster->id != acknowledged && store.set(acknowledgement_key(rank), roster->id))
      acknowledged = roster->id;
    return roster->state != kGathering;
  });
  if (roster && roster->state == kGo) return {roster->id, on_one_machine(*roster)};
  if (roster && roster->state == kFailed) {
    clean_up(store, rank);
    throw Error(ErrorCode::timeout, roster->sentence);
  }
  // What this rank wrote stays, so that others that still wait do not blame it; a later job is not disturbed.
  throw Error(ErrorCode::timeout, did_not_come(store,
                                               roster ? not_acknowledged(store, *roster, 1)
                                                      : missing_without_roster(store, rank, ranks),
                                               timeout));
}

}  // namespace

Meeting meet(Store& store, int rank, int ranks, std::chrono::milliseconds timeout) {
  return rank == 0 ? gather(store, ranks, timeout) : attend(store, rank, ranks, timeout);
}

void clean_up(Store& store, int rank) {
  if (rank == 0) {
    store.remove(kRoster);
    return;
  }
  store.remove(hello_key(rank));
  store.remove(acknowledgement_key(rank));
}

}  // namespace cerar::runtime
