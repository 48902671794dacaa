#include "generator/specialise/template_walk.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/CharInfo.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <optional>

#include "runtime/base/error.h"

namespace cerar::generator {

std::string apply_edits(const std::string& source, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  std::string result;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    if (edit.offset < at || edit.offset + edit.length > source.size())
      throw Error(ErrorCode::internal,
                  "two edits of a template overlap at byte " + std::to_string(edit.offset) + ".");
    result.append(source, at, edit.offset - at).append(edit.text);
    at = edit.offset + edit.length;
  }
  return result.append(source, at);
}

}  // namespace cerar::generator

// A plain walk over declarations and statements: RecursiveASTVisitor would add ten seconds to this file's
// build.

namespace cerar::generator {
namespace {

bool is_annotated(const clang::Decl& declaration, llvm::StringRef what) {
  for (const auto* annotation : declaration.specific_attrs<clang::AnnotateAttr>())
    if (annotation->getAnnotation() == what) return true;
  return false;
}

void collect(const clang::SourceManager& sources, const clang::DeclContext& scope,
             TemplateDeclarations& found) {
  for (const clang::Decl* declaration : scope.decls()) {
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration)) {
      collect(sources, *llvm::cast<clang::DeclContext>(declaration), found);
      continue;
    }
    if (!sources.isInMainFile(sources.getExpansionLoc(declaration->getLocation()))) continue;
    if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(declaration))
      declaration = pattern->getTemplatedDecl();
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration)) {
      if (is_annotated(*variable, "cerar::parameter")) found.parameters.push_back(variable);
    } else if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration)) {
      if (!function->doesThisDeclarationHaveABody() && !function->hasSkippedBody()) continue;
      found.functions.push_back(function);
      if (is_annotated(*function, "cerar::kernel")) found.kernels.push_back(function);
    }
  }
}

/// Finds constant ifs and edits the text around the branch that stays; edits never overlap because the
/// dropped text around a branch and the edits inside the branch are disjoint.
class BranchDropper {
 public:
  BranchDropper(clang::ASTContext& context, std::vector<TextEdit>& edits)
      : context_(context),
        sources_(context.getSourceManager()),
        text_(sources_.getBufferData(sources_.getMainFileID())),
        edits_(edits) {}

  void walk(const clang::Stmt* statement, const clang::Stmt* parent) {
    if (!statement) return;
    if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) {
      if (const std::optional<bool> taken = decided(*branch)) {
        drop(*branch, *taken ? branch->getThen() : branch->getElse(), parent);
        return;
      }
    }
    for (const clang::Stmt* child : statement->children()) walk(child, statement);
  }

 private:
  std::optional<bool> decided(const clang::IfStmt& branch) const {
    if (branch.getBeginLoc().isMacroID() || !sources_.isInMainFile(branch.getBeginLoc())) return {};
    if (branch.hasInitStorage() || branch.hasVarStorage() || branch.isConsteval()) return {};
    const clang::Expr* condition = branch.getCond();
    bool value = false;
    if (condition->isValueDependent() || condition->HasSideEffects(context_)) return {};
    if (!condition->EvaluateAsBooleanCondition(value, context_)) return {};
    return value;
  }

  void drop(const clang::IfStmt& branch, const clang::Stmt* kept, const clang::Stmt* parent) {
    const bool in_block = llvm::isa_and_nonnull<clang::CompoundStmt>(parent);
    unsigned begin = offset(branch.getBeginLoc());
    const unsigned end = end_of(&branch);
    if (!kept) {
      const auto* outer = llvm::dyn_cast_or_null<clang::IfStmt>(parent);
      const bool is_else = outer && outer->getElse() == &branch;
      if (is_else) begin = offset(outer->getElseLoc());
      if (in_block)
        while (begin > 0 && clang::isWhitespace(text_[begin - 1])) --begin;  // the whole line goes
      replace(begin, end, in_block || is_else ? "" : "{}");
      return;
    }
    unsigned kept_begin = offset(kept->getBeginLoc()), kept_end = end_of(kept);
    if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(kept);
        block && in_block && !declares(*block)) {
      // The braces are not needed, nor the space within them.
      while (clang::isWhitespace(text_[kept_begin + 1])) ++kept_begin;
      while (clang::isWhitespace(text_[kept_end - 2])) --kept_end;
      ++kept_begin;
      --kept_end;
    }
    replace(begin, kept_begin, "");
    replace(kept_end, end, "");
    walk(kept, parent);
  }

  static bool declares(const clang::CompoundStmt& block) {
    for (const clang::Stmt* statement : block.body())
      if (llvm::isa<clang::DeclStmt>(statement)) return true;
    return false;
  }

  /// Offset just behind a statement, its semicolon included.
  unsigned end_of(const clang::Stmt* statement) const {
    if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(statement); branch && !begins_in_macro(statement))
      return end_of(branch->getElse() ? branch->getElse() : branch->getThen());
    if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return end_of(loop->getBody());
    if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) return end_of(loop->getBody());
    if (const auto* marked = llvm::dyn_cast<clang::AttributedStmt>(statement))
      return end_of(marked->getSubStmt());
    if (begins_in_macro(statement) && llvm::isa<clang::IfStmt>(statement))
      return end_of(llvm::cast<clang::IfStmt>(statement)->getThen());
    const clang::SourceLocation last = sources_.getExpansionRange(statement->getEndLoc()).getEnd();
    const unsigned behind =
        offset(clang::Lexer::getLocForEndOfToken(last, 0, sources_, context_.getLangOpts()));
    if (llvm::isa<clang::CompoundStmt, clang::DeclStmt, clang::NullStmt>(statement)) return behind;
    const auto next = clang::Lexer::findNextToken(last, sources_, context_.getLangOpts());
    if (next && next->is(clang::tok::semi)) return offset(next->getEndLoc());
    return behind;
  }

  bool begins_in_macro(const clang::Stmt* statement) const { return statement->getBeginLoc().isMacroID(); }

  unsigned offset(clang::SourceLocation location) const {
    return sources_.getFileOffset(sources_.getExpansionLoc(location));
  }

  void replace(unsigned begin, unsigned end, const char* text) {
    edits_.push_back({begin, end - begin, text});
  }

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  const llvm::StringRef text_;
  std::vector<TextEdit>& edits_;
};

}  // namespace

TemplateDeclarations find_declarations(clang::ASTContext& context) {
  TemplateDeclarations found;
  collect(context.getSourceManager(), *context.getTranslationUnitDecl(), found);
  return found;
}

TextEdit rename_edit(clang::ASTContext& context, const clang::FunctionDecl& function,
                     const std::string& name) {
  return {context.getSourceManager().getFileOffset(function.getLocation()),
          static_cast<unsigned>(function.getName().size()), name};
}

TextEdit initialiser_edit(clang::ASTContext& context, const clang::VarDecl& parameter,
                          const std::string& value) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::SourceRange range = parameter.getInit()->getSourceRange();
  const unsigned begin = sources.getFileOffset(range.getBegin());
  const clang::SourceLocation end =
      clang::Lexer::getLocForEndOfToken(range.getEnd(), 0, sources, context.getLangOpts());
  return {begin, sources.getFileOffset(end) - begin, value};
}

std::vector<TextEdit> dead_branch_edits(clang::ASTContext& context, const clang::FunctionDecl& function) {
  std::vector<TextEdit> edits;
  BranchDropper(context, edits).walk(function.getBody(), nullptr);
  return edits;
}

}  // namespace cerar::generator
