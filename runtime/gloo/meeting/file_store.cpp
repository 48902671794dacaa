#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/directory.h"
#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {
namespace {

/// Calls `ready` again and again, ever more slowly, until it is true; false when `deadline` comes first.
template <typename Ready>
bool poll_until(std::chrono::steady_clock::time_point deadline, Ready ready) {
  using namespace std::chrono_literals;
  for (std::chrono::steady_clock::duration pause = 1ms;; pause = std::min<decltype(pause)>(2 * pause, 20ms)) {
    if (ready()) return true;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= 0ms) return false;
    std::this_thread::sleep_for(std::min(pause, left));
  }
}

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

/// Removes what this rank wrote. Call it when all ranks have met and need the meeting's keys no more.
void leave_roster(Directory& directory, int rank) noexcept {
  if (rank == 0) {
    directory.remove(kRoster);
    return;
  }
  directory.remove(hello_key(rank));
  directory.remove(acknowledgement_key(rank));
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

/// Brings `ranks` processes together in a directory, whatever a dead job left in it: each rank says hello
/// with a fresh nonce; rank 0 keeps a roster of the nonces, with a fresh id whenever one changes; a rank
/// acknowledges the id of a roster that holds its own nonce; when every acknowledgement is right, the roster
/// says go. Throws `timeout` naming the ranks that did not come: rank 0 knows them all and tells those that
/// came.
Meeting meet_by_roster(Directory& directory, int rank, int ranks, const Deadline& deadline) {
  return rank == 0 ? gather(directory, ranks, deadline) : attend(directory, rank, ranks, deadline);
}

class FileStore final : public Store {
 public:
  FileStore(const std::filesystem::path& directory, int rank, int ranks)
      : directory_(directory), rank_(rank), ranks_(ranks) {}

  std::string name() const override { return directory_.name(); }

  Meeting meet(const Deadline& deadline) override {
    const Meeting meeting = meet_by_roster(directory_, rank_, ranks_, deadline);
    id_ = meeting.id;
    return meeting;
  }

  void set(const std::string& key, std::string_view bytes) override {
    directory_.set(full(key), bytes);
    written_.push_back(key);
  }

  std::optional<std::string> await(const std::string& key, const Deadline& deadline) override {
    using namespace std::chrono_literals;
    for (auto pause = 1ms;; pause = std::min(2 * pause, 20ms)) {
      auto value = key.empty() ? std::nullopt : directory_.get(full(key));
      if (value) return value;
      if (const auto failure = directory_.get(full(kFailed))) throw Error(ErrorCode::peer_failed, *failure);
      std::unique_lock lock(mutex_);
      const bool woken = woken_.wait_until(lock, std::min(deadline.end(), Deadline::Clock::now() + pause),
                                           [&] { return wake_; });
      wake_ = false;
      if (woken || deadline.passed()) return std::nullopt;
    }
  }

  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      wake_ = true;
    }
    woken_.notify_one();
  }

  // This and rank 0's roster stay, for those who have not read them yet; the next meeting removes them.
  void fail(const std::string& sentence) noexcept override {
    try {
      if (!id_.empty() && !directory_.get(full(kFailed))) directory_.set(full(kFailed), sentence);
      if (rank_ != 0) leave_roster(directory_, rank_);
    } catch (const std::exception&) {  // then the others' own deadlines say it
    }
  }

  void leave() noexcept override {
    for (const auto& key : written_) directory_.remove(full(key));
    leave_roster(directory_, rank_);
  }

 private:
  std::string full(const std::string& key) const { return id_ + "." + key; }

  Directory directory_;
  const int rank_, ranks_;
  std::string id_;
  std::vector<std::string> written_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Store> make_file_store(const std::filesystem::path& directory, int rank, int ranks) {
  return std::make_unique<FileStore>(directory, rank, ranks);
}

}  // namespace cerar::runtime
