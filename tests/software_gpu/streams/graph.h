#pragma once

#include "tests/software_gpu/streams/capture.h"

namespace software_gpu {

/// A graph divided into branches: a node follows, in its branch, one that it depends on. Branches run in
/// threads of their own, nodes wait for what they depend on in other branches.
class GraphExec {
 public:
  explicit GraphExec(std::shared_ptr<const Graph> graph);

  const Graph& graph() const { return *graph_; }
  /// Runs all nodes and returns when they have ended.
  void run() const;

  const std::shared_ptr<Order> order = std::make_shared<Order>();  ///< launches do not overlap

 private:
  std::shared_ptr<const Graph> graph_;
  std::vector<std::vector<std::size_t>> branches_;
};

}  // namespace software_gpu
