#include "runtime/gloo/meeting/file_store.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/gloo/meeting/directory.h"
#include "runtime/gloo/meeting/roster.h"

namespace cerar::runtime {
namespace {

constexpr auto kFailed = "failed";

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
