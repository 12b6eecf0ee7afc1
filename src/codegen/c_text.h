// The C-family core of source generation: prints lowered statements and scalar expressions as C++ over primitives.
// No decisions here: what it prints was decided by the passes. The kernel's frame is in c_program.h.
#pragma once

#include <functional>
#include <string>

#include "arith/range.h"
#include "ir/program.h"

namespace tilert::codegen {

// The C spelling of a dtype's storage and value type; index prints as tl_i64.
std::string c_type(DType dtype);

// The device functions that the kernels call, each in a namespace of its own; empty where they call none.
std::string c_functions(const ir::Program& program, std::string_view language);

class CText {
 public:
  // narrow(e) says that an index expression and all its parts fit 32 bits by proof; bounds(e) what values it may have.
  CText(const ir::Program& program, std::function<bool(ir::Expr)> narrow, std::function<arith::Range(ir::Expr)> bounds)
      : program_(program), narrow_(std::move(narrow)), bounds_(std::move(bounds)) {}

  std::string expr(ir::Expr e) const;
  void block(const ir::Block& block);
  void line(const std::string& text);  // at the present indent
  void open(const std::string& text) { line(text); ++indent_; }
  void close() { --indent_; line("}"); }
  // The text. Variables and buffers are numbered in the order in which it first names them, so that what a program
  // declares and does not use leaves no trace.
  std::string take();

  // Names to put into lines; they have no meaning elsewhere.
  std::string var(ir::VarId id) const;
  std::string buffer(ir::BufferId id) const;
  std::string start(const ir::Access& access) const;
  std::string element(const ir::Access& access) const;  // lvalue
  std::string address(const ir::Access& access) const;  // pointer to the element
  bool is_packed(ir::BufferId id) const;                // its elements share bytes: its pointer is to bytes

 private:
  std::string without_unused_tiles() const;
  void stmt(const ir::Stmt& stmt);
  void share(const ir::Stmt& stmt);
  void loop(const ir::For& loop);
  std::string advance(const ir::For& loop, const std::string& counter, int64_t least, int64_t most) const;
  void let(const ir::Let& let);
  void call(const ir::Call& call);
  void jump(const ir::Jump& jump);
  void atomic(const ir::Atomic& atomic);
  void report(const ir::Report& report);
  void call_device(const ir::CallDevice& call);
  void alloc(const ir::Alloc& alloc);
  std::string literal(ir::Expr e) const;
  std::string index_expr(ir::Expr e, bool wide) const;
  std::string operation(ir::Expr e) const;
  std::string index_type(ir::Expr e) const { return narrow_(e) ? "int" : "tl_i64"; }

  const ir::Program& program_;
  std::function<bool(ir::Expr)> narrow_;
  std::function<arith::Range(ir::Expr)> bounds_;
  std::unordered_map<ir::Expr, std::string> shared_;  // of the statement being printed: what has a name
  size_t shared_count_ = 0;
  struct Declaration {  // of a tile: what the text calls it, and where its line stands
    std::string name;
    size_t begin, end;
  };
  std::vector<Declaration> tiles_;
  std::string out_;
  int indent_ = 0;
};

}  // namespace tilert::codegen
