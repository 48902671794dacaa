#pragma once

#include <string>

namespace cerar::bench {

/// A worker's line to the orchestrator: lines of text over a Unix socket, which network namespaces do not
/// separate. A worker that waits for its turn blocks in a read and costs the others nothing.
class Control {
 public:
  /// Throws `system` when nobody listens at `path`.
  explicit Control(const std::string& path);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// The next line without its end; false when the orchestrator has hung up.
  bool read_line(std::string& line);
  /// Throws `system` when the orchestrator has hung up.
  void write_line(const std::string& line);

 private:
  int socket_ = -1;
  std::string received_;
};

}  // namespace cerar::bench
