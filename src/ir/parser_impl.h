// The parser's class; only parser.cpp and parse_*.cpp include it. Every function returns something
// harmless once the scanner has failed, and every loop ends then.
#pragma once

#include <unordered_map>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/scanner.h"
#include "ir/words.h"

namespace tilert::ir {

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, ParseOptions limits) : s_(text, name), limits_(limits) {}
  Result<Program> run();

 private:
  // "name.id", "name" or "id" of a reference.
  struct Reference {
    std::string_view name;
    std::optional<uint64_t> id;
    bool valid = false;
  };
  static constexpr uint32_t kAmbiguous = ~0u;
  using Names = std::unordered_map<std::string, uint32_t>;

  // declarations (parser.cpp)
  void header();
  void declaration();
  void location();
  void variable();
  void dim();
  void buffer();
  LayoutHint layout();
  void parameter();
  void function();
  void kernel();
  void hints(Hints& h);
  std::shared_ptr<const SourceKernel> source_kernel();
  void refuse_source(std::string_view what);
  std::string declared_name(Token kind, size_t next, std::string_view what);
  static void declare(Names& names, const std::string& name, uint32_t id);

  // words and numbers (parse_expr.cpp)
  int64_t integer(std::string_view what);
  int narrow(std::string_view what);  // fits an int
  std::string string(std::string_view what);
  DType dtype();
  uint32_t location_number();
  static Reference split(std::string_view text);
  uint32_t resolve(const Names& names, size_t count, std::string_view what);
  VarId var();  // a declared variable
  BufferId buffer_reference();
  template <class E>
  E choice(std::string_view what) {
    const auto value = s_.kind() == Token::word ? from_word<E>(s_.text()) : std::nullopt;
    if (!value) {
      s_.fail(what);
      return E{};
    }
    s_.advance();
    return *value;
  }

  // expressions (parse_expr.cpp)
  void define();
  Expr nothing() { return p_.arena->index(0); }
  Expr expr(int depth = 0);
  Expr optional_expr();  // `_` is null
  Expr constant(DType type);
  Expr float_constant(DType type, std::string_view text);
  Expr operation(std::string_view name, int depth);
  Expr shallow(Expr e, size_t place);
  Expr converted(Op op, int depth);
  std::vector<Expr> exprs(bool may_be_null);

  // statements (parse_stmt.cpp, parse_tile.cpp)
  Block block(int depth);
  StmtPtr stmt(int depth);
  Stmt::Node node(int depth);
  Stmt::Node copy();
  Stmt::Node gemm();
  Stmt::Node reduce();
  std::vector<Region> regions();
  // "source -> destination dim n", as every operation along a dim has it.
  template <class N, class Read>
  void along(N& n, Read read, std::string_view what) {
    n.src = (this->*read)();
    arrow();
    n.dst = (this->*read)();
    s_.expect("dim");
    n.dim = narrow(what);
  }
  Combine combine();
  Stmt::Node fold();
  Stmt::Node scan();
  Stmt::Node pick();
  Stmt::Node sort();
  Stmt::Node reinterpret();
  Stmt::Node parallel(int depth, bool threads);
  Stmt::Node loop(int depth);
  Stmt::Node conditional(int depth);
  Stmt::Node while_loop(int depth);
  Stmt::Node roles(int depth);
  Stmt::Node atomic();
  Stmt::Node report();
  Stmt::Node thread_op();
  Stmt::Node async_op();
  Stmt::Node let();
  Stmt::Node inline_source();
  Stmt::Node call_device();
  Stmt::Node move();
  Stmt::Node call();
  CallArg argument();
  Region region();
  Access access();
  void arrow();

  Scanner s_;
  ParseOptions limits_;
  Program p_;
  Names var_names_, buffer_names_;
  std::vector<Expr> definitions_;
};

}  // namespace tilert::ir
