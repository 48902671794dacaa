#include "runtime/transport/store/file_store.h"

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <sstream>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

namespace fs = std::filesystem;

class FileStore final : public Store {
 public:
  explicit FileStore(fs::path directory) : directory_(std::move(directory)) {
    std::error_code failure;
    fs::create_directories(directory_, failure);
    if (failure) refuse(directory_, failure.message());
  }

  std::string name() const override { return "file:" + directory_.string(); }

  bool set(const std::string& key, std::string_view bytes) override {
    // The name of the unfinished file is nobody else's, on no machine.
    std::random_device random;
    const fs::path unfinished =
        directory_ / fmt::format("cerar-{}.{:08x}{:08x}.unfinished", key, random(), random());
    std::ofstream file(unfinished, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::error_code failure, ignored;
    if (!file) {
      fs::remove(unfinished, ignored);
      refuse(unfinished, "it cannot be written");
    }
    fs::rename(unfinished, path(key), failure);
    if (failure) {
      fs::remove(unfinished, ignored);
      refuse(path(key), failure.message());
    }
    return true;
  }

  std::optional<std::string> get(const std::string& key) override {
    std::ifstream file(path(key), std::ios::binary);
    if (!file) return std::nullopt;
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return std::move(bytes).str();
  }

  void remove(const std::string& key) override {
    std::error_code ignored;
    fs::remove(path(key), ignored);
  }

 private:
  fs::path path(const std::string& key) const { return directory_ / ("cerar-" + key); }

  [[noreturn]] void refuse(const fs::path& path, const std::string& why) const {
    throw Error(ErrorCode::system,
                fmt::format("the store {} cannot hold {}: {}; give a directory that every rank can write.",
                            name(), path.string(), why));
  }

  fs::path directory_;
};

}  // namespace

std::unique_ptr<Store> make_file_store(const fs::path& directory) {
  return std::make_unique<FileStore>(directory);
}

}  // namespace cerar::runtime
