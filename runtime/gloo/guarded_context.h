#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>

#include <memory>
#include <string>
#include <vector>

namespace cerar::runtime {

/// Gloo's pairs, guarded in three ways. Gloo takes whatever connects first to a pair's port for the other
/// rank, in a thread of its own where a stranger's bytes, or its leaving early, end the process: here a
/// connection counts once it has said the job's word, and is taken by the thread that connects. What Gloo's
/// thread throws ends the pair, not the process. And programs that the application starts inherit no
/// connection, but for the moment between two system calls.
///
/// `word`: what only this job's ranks know, at most 64 bytes, the same on all of them. It makes no pairs.
std::shared_ptr<gloo::transport::Context> make_guarded_context(
    const std::shared_ptr<gloo::transport::Device>& device, int rank, int ranks, const std::string& word);

/// The descriptor of a guarded context's pair, or -1; it is Gloo's, which may close it at any time.
int descriptor_of(gloo::transport::Pair& pair);

/// Gloo's thread stands still while this lives, so that it does not see pairs that are half made. Make and
/// keep pairs meanwhile, but end none.
class GlooHeld {
 public:
  explicit GlooHeld(gloo::transport::Device& device);
  ~GlooHeld();
  GlooHeld(const GlooHeld&) = delete;
  GlooHeld& operator=(const GlooHeld&) = delete;

 private:
  class Gate;
  std::unique_ptr<Gate> gate_;
};

/// What an exception of Gloo says, without the place in Gloo's source with which its texts begin.
inline std::string gloo_words(const std::string& text) {
  const auto end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace cerar::runtime
