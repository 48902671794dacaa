#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>

#include <functional>
#include <string>

namespace cerar::generator {

/// Runs `body`, which calls Clang, LLVM or lld on this thread. They print what is fatal to them - a disk or a
/// memory without room, a defect of their own - and end the process; here it is thrown instead: Error
/// `system` with their words, or std::bad_alloc. What `body` itself throws comes through. After a failure
/// that is LLVM's, what `body` had under way is left as it is and never freed: memory that is lost, and
/// nothing that a destructor could trip over.
void contain(const char* who, const std::function<void()>& body);

/// Keeps Clang's first error, which is the one that tells what is wrong; prints nothing.
class FirstError : public clang::DiagnosticConsumer {
 public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error || !message.empty()) return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    message = text.str().str();
    if (info.hasSourceManager() && info.getLocation().isValid())
      line = info.getSourceManager().getExpansionLineNumber(info.getLocation());
  }

  std::string message;
  unsigned line = 0;
};

}  // namespace cerar::generator
