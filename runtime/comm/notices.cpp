#include "runtime/comm/notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace cerar::runtime {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

}  // namespace

Failures::Failures(int rank, int size, std::chrono::milliseconds timeout, std::chrono::milliseconds grace)
    : rank_(rank), timeout_(timeout), grace_(grace), left_(at(size)), answered_(at(size)) {}

void Failures::take(const Notice& notice) {
  const std::lock_guard lock(mutex_);
  switch (notice.kind) {
    case Notice::Kind::failed:
      if (!reason_) reason_ = notice.text;
      failed_ = true;
      break;
    case Notice::Kind::leaving:
      left_[at(notice.rank)] = true;
      any_left_ = true;
      break;
    case Notice::Kind::waiting:
      answered_[at(notice.rank)] = true;
      break;
    case Notice::Kind::ping:
      break;
  }
}

bool Failures::fail(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (reason_) return false;
  reason_ = reason;
  failed_ = true;
  return true;
}

void Failures::interrupt(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (interrupted_) return;
  interruption_ = reason;
  interrupted_ = failed_ = true;
}

void Failures::throw_reason() const {
  const std::lock_guard lock(mutex_);
  throw Error(ErrorCode::peer_failed,
              interrupted_ ? interruption_ : reason_.value_or("the communicator failed."));
}

bool Failures::left(int rank) const {
  const std::lock_guard lock(mutex_);
  return left_[at(rank)];
}

bool Failures::all_left() const {
  const std::lock_guard lock(mutex_);
  return std::count(left_.begin(), left_.end(), true) + 1 == std::ssize(left_);
}

std::optional<int> Failures::left_of(const std::vector<int>& ranks) const {
  const auto found = std::ranges::find_if(ranks, [&](int rank) { return left(rank); });
  return found == ranks.end() ? std::nullopt : std::optional(*found);
}

void Failures::begin_wait() {
  const std::lock_guard lock(mutex_);
  std::fill(answered_.begin(), answered_.end(), false);
}

void Failures::answered(int rank) {
  const std::lock_guard lock(mutex_);
  answered_[at(rank)] = true;
}

std::vector<int> Failures::silent(const std::vector<int>& awaited) const {
  const std::lock_guard lock(mutex_);
  std::vector<int> silent;
  std::ranges::copy_if(awaited, std::back_inserter(silent), [&](int rank) { return !answered_[at(rank)]; });
  return silent;
}

Error Failures::late(const std::vector<int>& awaited, const std::string& what) const {
  if (const auto peer = left_of(awaited)) return gone(*peer, {});
  const auto unresponsive = silent(awaited);
  return Error(ErrorCode::timeout,
               fmt::format("rank {} waited {} ms for rank(s) {} {} ({}).", rank_, timeout_.count(),
                           fmt::join(unresponsive.empty() ? awaited : unresponsive, ", "), what,
                           unresponsive.empty() ? "alive, but late" : "no sign of life"));
}

Error Failures::gone(int peer, const std::string& how) const {
  return Error(ErrorCode::peer_failed,
               left(peer)
                   ? fmt::format("rank {} has left the communicator that rank {} still uses.", peer, rank_)
                   : fmt::format("rank {} lost its connection to rank {}, which ended or cannot be reached "
                                 "({}).",
                                 rank_, peer, how));
}

}  // namespace cerar::runtime
