#include "generator/specialise/template_parse.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generator/compile/contain.h"
#include "runtime/base/error.h"

namespace cerar::generator {

// template_catalog() itself is generated from templates/ at build time, see embed_templates.cmake.

std::string_view template_text(std::string_view path) {
  for (const TemplateFile& file : template_catalog())
    if (file.path == path) return file.text;
  throw Error(ErrorCode::internal, "the template catalog does not hold " + std::string(path) + ".");
}

namespace {

using Visit = std::function<void(clang::ASTContext&)>;

/// Calls `visit`, whose exceptions wait in `failure`: Clang is built without exceptions and must not be
/// unwound.
class VisitAction : public clang::ASTFrontendAction {
 public:
  explicit VisitAction(const Visit& visit) : visit_(visit) {}

  std::exception_ptr failure;

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&, llvm::StringRef) override {
    struct Consumer : clang::ASTConsumer {
      explicit Consumer(VisitAction& action) : action(action) {}
      void HandleTranslationUnit(clang::ASTContext& context) override {
        // A source with errors has holes; the caller throws instead.
        if (context.getDiagnostics().hasErrorOccurred()) return;
        try {
          action.visit_(context);
        } catch (...) {
          action.failure = std::current_exception();
        }
      }
      VisitAction& action;
    };
    return std::make_unique<Consumer>(*this);
  }

 private:
  const Visit& visit_;
};

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(const std::string& main_file,
                                                            const std::string& source) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const TemplateFile& file : template_catalog()) {
    const std::string path = fmt::format("/{}", file.path);
    if (path == main_file) continue;
    files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(file.text), path));
  }
  files->addFile(main_file, 0, llvm::MemoryBuffer::getMemBuffer(source, main_file));
  return files;
}

void parse_contained(std::string_view family, const std::string& source, Bodies bodies, const Visit& visit) {
  const std::string main_file = fmt::format("/templates/{}.cu", family);
  // The frontend's own arguments: the driver would search the machine for a CUDA toolkit and a GCC.
  const std::vector<const char*> arguments = {"-triple",
                                              "nvptx64-nvidia-cuda",
                                              "-aux-triple",
                                              "x86_64-unknown-linux-gnu",
                                              "-target-cpu",
                                              "sm_80",
                                              "-x",
                                              "cuda",
                                              "-std=c++17",
                                              "-fcuda-is-device",
                                              "-fsyntax-only",
                                              "-nostdsysteminc",
                                              "-nobuiltininc",
                                              "-I",
                                              "/",
                                              main_file.c_str()};
  FirstError errors;
  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&errors, /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments,
                                                 compiler.getDiagnostics()))
    throw Error(ErrorCode::internal, "Clang refuses the specialiser's arguments: " + errors.message + ".");
  compiler.getFrontendOpts().SkipFunctionBodies = bodies == Bodies::skip;
  compiler.setVerboseOutputStream(llvm::nulls());  // Clang would print how many errors there were
  compiler.createFileManager(file_system(main_file, source));
  VisitAction action(visit);
  const bool parsed = compiler.ExecuteAction(action);
  if (action.failure) std::rethrow_exception(action.failure);
  if (!errors.message.empty() || !parsed)
    throw Error(ErrorCode::invalid_plan, fmt::format("template {} refuses these parameters (line {}): {}.",
                                                     family, errors.line, errors.message));
}

}  // namespace

void parse_template(std::string_view family, const std::string& source, Bodies bodies, const Visit& visit) {
  contain("Clang", [&] { parse_contained(family, source, bodies, visit); });
}

}  // namespace cerar::generator
