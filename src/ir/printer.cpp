// The printer. What each line means is in printer.h.
#include "ir/printer.h"

#include <charconv>
#include <cmath>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr int kMaxNodesInLine = 40;  // of one expression; what is larger is cut into definitions

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

class Printer {
 public:
  Printer(const Program& program, PrintOptions options)
      : p_(program), options_(options), names_(!options.canonical), locations_(options.locations && names_) {}

  std::string whole() {
    out_.reserve(4096);
    put("tir ", kTirMajor);
    end_line();
    if (!p_.name.empty() && names_) {
      put("program ");
      quote(p_.name);
      end_line();
    }
    if (locations_) location_table();
    for (VarId v = 0; v < p_.vars.size(); ++v) var_line(v);
    for (const Dim& d : p_.dims) dim_line(d);
    for (BufferId b = 0; b < p_.buffers.size(); ++b) buffer_line(b);
    for (const Parameter& parameter : p_.parameters) parameter_line(parameter);
    for (const Kernel& k : p_.kernels) kernel(k);
    return std::move(out_);
  }

  std::string one(const Stmt& s) {
    stmt(s);
    if (!out_.empty()) out_.pop_back();
    return std::move(out_);
  }

  std::string one(Expr e) {
    expr(e);
    return out_ + line_;
  }

 private:
  // ---- text: a line is put together, then ended; definitions that it needs go out before it ----
  void put(std::string_view text) { line_ += text; }
  void put(int64_t number) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    line_.append(buffer, end);
  }
  template <class A, class B, class... Rest>
  void put(A a, B b, Rest... rest) {
    put_one(a);
    put_one(b);
    (put_one(rest), ...);
  }
  void put_one(std::string_view text) { put(text); }
  void put_one(const char* text) { put(std::string_view(text)); }
  template <class I>
  std::enable_if_t<std::is_integral_v<I>> put_one(I number) { put(static_cast<int64_t>(number)); }

  void end_line() {
    if (names_) out_.append(static_cast<size_t>(depth_) * 2, ' ');
    out_ += line_;
    out_ += '\n';
    line_.clear();
  }

  void hex(uint64_t bits) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
    put("0x");
    line_.append(buffer, end);
  }

  void quote(std::string_view text) {
    static constexpr char kDigits[] = "0123456789abcdef";
    line_ += '"';
    for (char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        line_ += '\\';
        line_ += c;
      } else if (c == '\n') {
        line_ += "\\n";
      } else if (byte < 0x20 || byte == 0x7f) {
        line_ += "\\x";
        line_ += kDigits[byte >> 4];
        line_ += kDigits[byte & 15];
      } else {
        line_ += c;
      }
    }
    line_ += '"';
  }

  template <class List, class F>
  void list(const List& items, F f) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) put(", ");
      first = false;
      f(item);
    }
  }

  void reference(char sigil, std::string_view name, uint32_t id) {
    line_ += sigil;
    if (names_ && is_identifier(name)) put(name, ".");
    put(static_cast<int64_t>(id));
  }
  void var(VarId id) {
    if (id == kNoVar) return put("_");
    reference('%', id < p_.vars.size() ? std::string_view(p_.vars[id].name) : std::string_view(), id);
  }
  void buffer(BufferId id) {
    if (id == kNoBuffer) return put("_");
    reference('@', id < p_.buffers.size() ? std::string_view(p_.buffers[id].name) : std::string_view(), id);
  }
  // A name that the reference cannot carry.
  void odd_name(std::string_view name) {
    if (!names_ || name.empty() || is_identifier(name)) return;
    put(" ");
    quote(name);
  }

  // ---- expressions ----

  void expr(Expr e) {
    if (!e) return put("_");
    if (e->arity) measure(e);
    spell(e);
  }

  // Gives every node under e a size in printed nodes, and a definition to those that would be too large.
  void measure(Expr root) {
    if (sizes_.count(root)) return;
    std::vector<std::pair<Expr, int>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [e, next] = stack.back();
      if (next < e->arity) {
        const Expr operand = e->operand[next++];
        if (operand->arity && !sizes_.count(operand)) stack.emplace_back(operand, 0);
        continue;
      }
      const Expr node = e;
      stack.pop_back();
      int size = 1;
      for (int i = 0; i < node->arity; ++i) size += node->operand[i]->arity ? sizes_[node->operand[i]] : 1;
      if (size > kMaxNodesInLine) {
        define(node);
        size = 1;
      }
      sizes_[node] = size;
    }
  }

  void define(Expr e) {
    std::string kept;
    kept.swap(line_);
    const auto number = static_cast<int64_t>(definitions_.size());
    put("define $", number, " = ");
    spell(e);
    end_line();
    definitions_[e] = number;
    line_.swap(kept);
  }

  void spell(Expr e) {
    if (e->is_constant()) return constant(*e);
    if (e->is_variable()) return var(e->var());
    if (!definitions_.empty()) {
      const auto found = definitions_.find(e);
      if (found != definitions_.end()) return put("$", found->second);
    }
    put(op_row(e->op).text);
    if (e->op == Op::cast || e->op == Op::reinterpret) put("<", dtype_text(e->dtype), ">");
    put("(");
    for (int i = 0; i < e->arity; ++i) {
      if (i) put(", ");
      spell(e->operand[i]);
    }
    put(")");
  }

  void constant(const Node& node) {
    if (node.dtype == DType::index) return put(node.as_int());
    if (node.dtype == DType::boolean) return put(node.bits ? "true" : "false");
    put(dtype_text(node.dtype), "(");
    if (dtype_is_float(node.dtype)) {
      hex(node.bits);
      if (names_ && can_evaluate(node.dtype)) comment(bits_to_double(node.dtype, node.bits));
    } else if (dtype_is_signed(node.dtype)) {
      put(node.as_int());
    } else {
      char buffer[24];
      line_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, node.bits).ptr);
    }
    put(")");
  }

  void comment(double value) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 9).ptr;
    put(" /*");
    line_.append(buffer, end);
    put("*/");
  }

  void exprs(const std::vector<Expr>& items) {
    put("[");
    list(items, [&](Expr e) { expr(e); });
    put("]");
  }

  void region(const Region& r) {
    buffer(r.buffer);
    put("[");
    const size_t rank = std::max(r.offsets.size(), r.extents.size());
    for (size_t d = 0; d < rank; ++d) {
      if (d) put(", ");
      expr(d < r.offsets.size() ? r.offsets[d] : nullptr);
      put(":", d < r.extents.size() ? r.extents[d] : 0);
    }
    put("]");
  }

  void access(const Access& a) {
    buffer(a.buffer);
    exprs(a.indices);
  }

  // ---- declarations ----

  void location_table() {
    for (size_t i = 1; i < p_.locations.size(); ++i) {
      const Location& at = p_.locations[i];
      put("location ", i, " ");
      quote(at.file);
      put(" ", at.line);
      if (!at.label.empty()) {
        put(" ");
        quote(at.label);
      }
      end_line();
    }
  }

  void var_line(VarId id) {
    const Var& v = p_.vars[id];
    put("var ");
    var(id);
    put(" ", word(v.kind), " ", dtype_text(v.dtype));
    odd_name(v.name);
    end_line();
  }

  void dim_line(const Dim& d) {
    put("dim ");
    var(d.var);
    if (d.value) put(" = ", *d.value);
    if (d.divisible != 1) put(" divisible ", d.divisible);
    for (const Bucket& b : d.buckets) {
      if (b.kind == Bucket::Kind::range) put(" range ", b.low, " ", b.high);
      else put(" divisor ", b.divisor);
    }
    end_line();
  }

  void buffer_line(BufferId id) {
    const Buffer& b = p_.buffers[id];
    put("buffer ");
    buffer(id);
    put(" ", word(b.scope), " ", dtype_text(b.dtype), " ");
    exprs(b.shape);
    if (!has_default_strides(b)) {
      put(" strides ");
      exprs(b.strides);
    }
    if (!b.contiguous) put(" strided");
    if (b.direction != Direction::none) put(" ", word(b.direction));
    if (b.parameter >= 0) put(" argument ", b.parameter);
    if (b.alignment != 16) put(" align ", b.alignment);
    if (b.may_alias) put(" may_alias");
    if (b.stages != 1) put(" stages ", b.stages);
    if (b.byte_offset >= 0) put(" offset ", b.byte_offset);
    if (locations_ && b.location) put(" !", b.location);
    odd_name(b.name);
    end_line();
  }

  void parameter_line(const Parameter& parameter) {
    put("parameter ");
    if (parameter.kind == Parameter::Kind::tensor) {
      put("tensor ");
      buffer(parameter.buffer);
    } else {
      put("scalar ");
      var(parameter.var);
    }
    if (names_ && !parameter.name.empty()) {
      put(" ");
      quote(parameter.name);
    }
    end_line();
  }

  void kernel(const Kernel& k) {
    put("kernel ");
    quote(k.name);
    put(" (");
    list(k.block_vars, [&](VarId v) { var(v); });
    put(") grid ");
    exprs(k.grid);
    const Hints& h = k.hints;
    if (h.threads) put(" threads ", h.threads);
    if (h.threads_fixed) put(" threads_fixed");
    if (h.min_blocks_per_sm) put(" min_blocks ", h.min_blocks_per_sm);
    if (h.register_cap) put(" register_cap ", h.register_cap);
    if (h.consumer_warpgroups) put(" consumers ", h.consumer_warpgroups);
    if (h.roles_off) put(" roles_off");
    if (h.persistent) put(" persistent");
    block(k.body);
    end_line();
  }

  // ---- statements ----

  // "{", the statements, and "}" left on the open line.
  void block(const Block& statements) {
    put(" {");
    end_line();
    ++depth_;
    for (const StmtPtr& s : statements) stmt(*s);
    --depth_;
    put("}");
  }

  void stmt(const Stmt& s) {
    const bool located = locations_ && s.location;
    if (s.ordinal || located) put(static_cast<int64_t>(s.ordinal));
    if (located) put("!", s.location);
    if (s.ordinal || located) put(": ");
    std::visit([&](const auto& node) { body(node); }, s.node);
    end_line();
  }

  void body(const Alloc& n) {
    put("alloc ");
    buffer(n.buffer);
  }
  void body(const Copy& n) {
    put("copy ");
    region(n.src);
    put(" -> ");
    region(n.dst);
    if (n.safe) {
      put(" safe ");
      expr(n.safe);
    }
    if (!n.valid.empty()) {
      put(" valid ");
      exprs(n.valid);
    }
    if (n.prefer != CopyPrefer::any) put(" prefer ", word(n.prefer));
    if (n.must) put(" must");
    if (n.eviction != Eviction::normal) put(" evict ", word(n.eviction));
  }
  void body(const Fill& n) {
    put("fill ");
    region(n.dst);
    put(" = ");
    expr(n.value);
  }
  void body(const Gemm& n) {
    put("gemm ");
    region(n.a);
    put(", ");
    region(n.b);
    put(", ");
    region(n.c);
    if (n.trans_a) put(" trans_a");
    if (n.trans_b) put(" trans_b");
    put(" accumulate ");
    expr(n.accumulate);
    if (n.split != WarpSplit::automatic) put(" split ", word(n.split));
  }
  void body(const Reduce& n) {
    put("reduce ", word(n.op), " ");
    region(n.src);
    put(" -> ");
    region(n.dst);
    put(" dim ", n.dim);
    if (n.accumulate) put(" accumulate");
  }
  void body(const Parallel& n) {
    put("parallel (");
    for (size_t i = 0; i < n.vars.size(); ++i) {
      if (i) put(", ");
      var(n.vars[i]);
      put(" : ", i < n.extents.size() ? n.extents[i] : 0);
    }
    put(")");
    if (!n.contract) put(" exact");
    block(n.body);
  }
  void body(const For& n) {
    put("for ", word(n.kind), " ");
    var(n.var);
    put(" = ");
    expr(n.begin);
    put(" to ");
    expr(n.end);
    if (n.step != 1) put(" step ", n.step);
    if (n.stages) put(" stages ", n.stages);
    block(n.body);
  }
  void body(const If& n) {
    put("if ");
    expr(n.condition);
    block(n.then_body);
    if (n.else_body.empty()) return;
    put(" else");
    block(n.else_body);
  }
  void body(const Let& n) {
    put("let ");
    var(n.var);
    put(" = ");
    if (n.value) return expr(n.value);
    put("load ");
    access(n.read);
  }
  void body(const Store& n) {
    put("store ");
    access(n.to);
    put(" = ");
    expr(n.value);
  }
  void body(const Inline& n) {
    put("inline ");
    quote(n.target);
    put(" ");
    quote(n.text);
    put(" (");
    list(n.operands, [&](const std::variant<Expr, Access>& operand) {
      if (const Expr* e = std::get_if<Expr>(&operand)) return expr(*e);
      access(std::get<Access>(operand));
    });
    put(")");
  }
  void body(const Move& n) {
    put("move ");
    access(n.dst);
    put(" = ");
    access(n.src);
    put(" count ", n.count);
  }
  void body(const Call& n) {
    put("call ", primitive_row(n.primitive).name, " (");
    list(n.args, [&](const CallArg& arg) { argument(arg); });
    put(")");
  }
  void argument(const CallArg& arg) {
    switch (arg.kind) {
      case CallArg::Kind::value: return expr(arg.value);
      case CallArg::Kind::address:
        put("address ");
        return access(arg.at);
      case CallArg::Kind::registers:
        put("registers ");
        access(arg.at);
        return put(" : ", arg.count);
      case CallArg::Kind::text: return quote(arg.text);
    }
  }
  void body(const Group& n) {
    put("group ");
    quote(n.comment);
    block(n.body);
  }

  const Program& p_;
  const PrintOptions options_;
  const bool names_, locations_;
  int depth_ = 0;
  std::string out_, line_;
  std::unordered_map<Expr, int> sizes_;
  std::unordered_map<Expr, int64_t> definitions_;
};

}  // namespace

std::string print(const Program& program, PrintOptions options) { return Printer(program, options).whole(); }

std::string canonical_text(const Program& program) {
  return print(clone(program, true), PrintOptions{.canonical = true, .locations = false});
}

std::string print_stmt(const Program& program, const Stmt& stmt) {
  return Printer(program, {.locations = false}).one(stmt);
}

std::string print_expr(const Program& program, Expr expr) { return Printer(program, {.locations = false}).one(expr); }

}  // namespace tilert::ir
