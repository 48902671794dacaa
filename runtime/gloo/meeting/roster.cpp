#include "runtime/gloo/meeting/roster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/poll.h"

namespace cerar::runtime {
namespace {

constexpr auto kRoster = "roster", kGathering = "gathering", kGo = "go", kFailed = "failed";
const std::string kAbsent = "-";

std::string hello_key(int rank) { return fmt::format("hello.{}", rank); }
std::string acknowledgement_key(int rank) { return fmt::format("acknowledged.{}", rank); }

// One line, so that hellos fit into the lines of a roster.
std::string make_hello(int ranks) { return fmt::format("{} {} {}", fresh_id(), ranks, this_machine()); }

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

int ranks_of_roster(const std::optional<std::string>& text) {
  const auto lines = text ? std::count(text->begin(), text->end(), '\n') : 0;
  return lines > 3 ? static_cast<int>(lines) - 3 : 0;
}

bool on_one_machine(const Roster& roster) {
  const std::string first = parse_hello(roster.hellos[0]).machine;
  return std::all_of(roster.hellos.begin(), roster.hellos.end(),
                     [&](const std::string& hello) { return parse_hello(hello).machine == first; });
}

std::string absent(const Directory& directory, const std::vector<int>& missing, const Deadline& deadline,
                   const std::string& detail) {
  return did_not_come(fmt::format("{}", fmt::join(missing, ", ")), directory.name(), deadline, detail);
}

// Ranks of another number of ranks, or of a dead job that had another.
std::string other_numbers(const Directory& directory, const std::vector<int>& missing, int ranks) {
  std::string words;
  for (const int rank : missing) {
    const int theirs = rank == 0 ? ranks : parse_hello(directory.get(hello_key(rank)).value_or("")).ranks;
    if (theirs != 0 && theirs != ranks)
      words += fmt::format("; a rank {} of {} ranks was there", rank, theirs);
  }
  return words;
}

std::vector<int> not_acknowledged(Directory& directory, const Roster& roster, int from) {
  std::vector<int> missing;
  for (int rank = from; rank < static_cast<int>(roster.hellos.size()); ++rank)
    if (roster.hellos[static_cast<std::size_t>(rank)] == kAbsent ||
        directory.get(acknowledgement_key(rank)) != roster.id)
      missing.push_back(rank);
  return missing;
}

// Takes the hellos that are there into the roster; a change makes it a new one.
void renew(Directory& directory, Roster& roster, int ranks) {
  bool changed = roster.id.empty();
  for (int rank = 1; rank < ranks; ++rank) {
    std::string hello = directory.get(hello_key(rank)).value_or(kAbsent);
    if (parse_hello(hello).ranks != ranks) hello = kAbsent;
    auto& known = roster.hellos[static_cast<std::size_t>(rank)];
    changed = changed || hello != known;
    known = hello;
  }
  if (!changed) return;
  roster.id = fresh_id();
  directory.set(kRoster, write(roster));
}

Meeting gather(Directory& directory, int ranks, const Deadline& deadline) {
  Roster roster{{}, kGathering, {}, std::vector<std::string>(static_cast<std::size_t>(ranks), kAbsent)};
  roster.hellos[0] = make_hello(ranks);
  directory.remove_meetings();
  std::vector<bool> came(static_cast<std::size_t>(ranks), true);
  std::fill(came.begin() + 1, came.end(), false);
  std::vector<int> missing;
  const bool complete = poll_until(deadline.end(), [&] {
    renew(directory, roster, ranks);
    missing = not_acknowledged(directory, roster, 1);
    for (int rank = 1; rank < ranks; ++rank)
      if (std::find(missing.begin(), missing.end(), rank) == missing.end())
        came[static_cast<std::size_t>(rank)] = true;
    return missing.empty();
  });
  roster.state = complete ? kGo : kFailed;
  if (complete) {
    directory.set(kRoster, write(roster));
    return {roster.id, on_one_machine(roster)};
  }
  // Some may have waited as long as they would, and left; those that never came are to blame.
  std::vector<int> never = missing;
  std::erase_if(never, [&](int rank) { return came[static_cast<std::size_t>(rank)]; });
  if (never.empty()) never = missing;
  roster.sentence = absent(directory, never, deadline, other_numbers(directory, never, ranks));
  roster.id = fresh_id();
  for (const int rank : missing) roster.hellos[static_cast<std::size_t>(rank)] = kAbsent;
  directory.set(kRoster, write(roster));
  // Those that came shall read it before a store that this rank serves is gone.
  poll_until(Deadline::Clock::now() + std::chrono::milliseconds(250),
             [&] { return not_acknowledged(directory, roster, 1).size() == missing.size(); });
  leave_roster(directory, 0);
  throw Error(ErrorCode::timeout, roster.sentence);
}

std::vector<int> missing_without_roster(Directory& directory, int rank, int ranks) {
  std::vector<int> missing = {0};
  for (int other = 1; other < ranks; ++other)
    if (other != rank && !directory.get(hello_key(other))) missing.push_back(other);
  return missing;
}

Meeting attend(Directory& directory, int rank, int ranks, const Deadline& deadline) {
  const std::string mine = make_hello(ranks);
  std::optional<Roster> roster;
  std::string acknowledged;
  bool said_hello = false;
  poll_until(deadline.end(), [&] {
    roster = parse_roster(directory.get(kRoster), ranks);
    if (roster && roster->hellos[static_cast<std::size_t>(rank)] != mine) roster.reset();
    if (!roster) {
      const auto there = directory.get(hello_key(rank));
      if (there && *there != mine && said_hello)
        throw Error(
            ErrorCode::mismatch,
            fmt::format("another process has come to the store {} as rank {}, and another job may use it; "
                        "give each process a rank of its own, and each job a store of its own.",
                        directory.name(), rank));
      if (there != mine) directory.set(hello_key(rank), mine);
      said_hello = true;
      return false;
    }
    if (roster->id != acknowledged) directory.set(acknowledgement_key(rank), roster->id);
    acknowledged = roster->id;
    return roster->state != kGathering;
  });
  // Rank 0 of another number of ranks, or what is left of one.
  std::string detail;
  if (!roster)
    if (const int theirs = ranks_of_roster(directory.get(kRoster)); theirs != 0 && theirs != ranks)
      detail = fmt::format("; a rank 0 of {} ranks was there", theirs);
  if (roster && roster->state == kGo) return {roster->id, on_one_machine(*roster)};
  if (roster && roster->state == kFailed) {
    leave_roster(directory, rank);
    throw Error(ErrorCode::timeout, roster->sentence);
  }
  // What this rank wrote stays, so that others that still wait do not blame it; a later job is not disturbed.
  throw Error(ErrorCode::timeout, absent(directory,
                                         roster ? not_acknowledged(directory, *roster, 1)
                                                : missing_without_roster(directory, rank, ranks),
                                         deadline, detail));
}

}  // namespace

Meeting meet_by_roster(Directory& directory, int rank, int ranks, const Deadline& deadline) {
  return rank == 0 ? gather(directory, ranks, deadline) : attend(directory, rank, ranks, deadline);
}

void leave_roster(Directory& directory, int rank) noexcept {
  if (rank == 0) {
    directory.remove(kRoster);
    return;
  }
  directory.remove(hello_key(rank));
  directory.remove(acknowledgement_key(rank));
}

}  // namespace cerar::runtime
