#pragma once

#include <string>
#include <vector>

namespace cerar::generator {

/// Replaces `length` bytes from `offset` on.
struct TextEdit {
  unsigned offset;
  unsigned length;
  std::string text;
};

/// Applies edits that do not overlap; their order does not matter.
std::string apply_edits(const std::string& source, std::vector<TextEdit> edits);

}  // namespace cerar::generator

namespace clang {
class ASTContext;
class FunctionDecl;
class VarDecl;
}  // namespace clang

namespace cerar::generator {

/// What a template declares at namespace scope of its own file, in order.
struct TemplateDeclarations {
  std::vector<const clang::VarDecl*> parameters;      ///< annotated "cerar::parameter"
  std::vector<const clang::FunctionDecl*> kernels;    ///< annotated "cerar::kernel"
  std::vector<const clang::FunctionDecl*> functions;  ///< all with a body; of templates the pattern
};

TemplateDeclarations find_declarations(clang::ASTContext& context);

/// Byte range of the main file that a declaration's name or initialiser spans.
TextEdit rename_edit(clang::ASTContext& context, const clang::FunctionDecl& function,
                     const std::string& name);
TextEdit initialiser_edit(clang::ASTContext& context, const clang::VarDecl& parameter,
                          const std::string& value);

/// Edits that drop every `if` of the main file whose condition is a constant, keeping the branch that is
/// taken. Conditions that depend on template parameters stay, as do those that macros bring along.
std::vector<TextEdit> dead_branch_edits(clang::ASTContext& context, const clang::FunctionDecl& function);

}  // namespace cerar::generator
