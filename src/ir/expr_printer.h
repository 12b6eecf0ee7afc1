// Spells expressions, references and places of .tir; declarations and statements are in printer.cpp.
#pragma once

#include <unordered_map>

#include "ir/printer.h"
#include "ir/text_writer.h"

namespace tilert::ir {

class ExprPrinter : protected TextWriter {
 protected:
  ExprPrinter(const Program& program, PrintOptions options)
      : TextWriter(!options.canonical),
        p_(program),
        names_(!options.canonical),
        locations_(options.locations && names_) {}

  template <class List, class F>
  void list(const List& items, F f) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) put(", ");
      first = false;
      f(item);
    }
  }

  void var(VarId id);
  void buffer(BufferId id);
  void odd_name(std::string_view name);  // a name that the reference cannot carry
  void expr(Expr e);
  void exprs(const std::vector<Expr>& items);
  void region(const Region& r);
  void access(const Access& a);
  void layout(const LayoutHint& l);
  void combine(const Combine& c);
  void body(const Atomic& n);
  void body(const Report& n);
  void body(const ThreadOp& n);
  void body(const AsyncOp& n);
  void body(const Inline& n);
  void function(const DeviceFunction& f);
  void body(const CallDevice& n);
  void argument(const CallArg& arg);

  const Program& p_;
  const bool names_, locations_;

 private:
  void reference(char sigil, std::string_view name, uint32_t id);
  void measure(Expr root);
  void define(Expr e);
  void spell(Expr e);
  void constant(const Node& node);
  void comment(double value);

  std::unordered_map<Expr, int> sizes_;
  std::unordered_map<Expr, int64_t> definitions_;
};

}  // namespace tilert::ir
