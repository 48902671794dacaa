#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>

#include <string>

namespace cerar::generator {

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
