#include "tests/software_gpu/streams/graph.h"

#include "tests/software_gpu/base/settings.h"

namespace software_gpu {

GraphExec::GraphExec(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
  std::map<std::size_t, std::size_t> ends;  // last node of a branch: branch
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    std::size_t branch = branches_.size();
    for (const std::size_t before : graph_->nodes[i].after)
      if (const auto end = ends.find(before); end != ends.end()) {
        branch = end->second;
        ends.erase(end);
        break;
      }
    if (branch == branches_.size()) branches_.emplace_back();
    branches_[branch].push_back(i);
    ends[i] = branch;
  }
}

void GraphExec::run() const {
  std::vector<Completion> done(graph_->nodes.size());
  const auto walk = [&](const std::vector<std::size_t>& branch) {
    for (const std::size_t i : branch) {
      const Graph::Node& node = graph_->nodes[i];
      for (const std::size_t before : node.after) done[before].wait();
      if (node.run) {
        random_delay();
        if (!node.context->failure)
          if (const CuResult result = node.run(); result != kCuSuccess) node.context->fail(result);
      }
      done[i].finish();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t b = 1; b < branches_.size(); ++b) threads.emplace_back(walk, std::cref(branches_[b]));
  if (!branches_.empty()) walk(branches_.front());
  for (auto& thread : threads) thread.join();
}

}  // namespace software_gpu
