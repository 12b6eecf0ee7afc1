// The printer: declarations and statements. What each line means is in printer.h.
#include "ir/printer.h"

#include "ir/expr_printer.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

class Printer : ExprPrinter {
 public:
  Printer(const Program& program, PrintOptions options) : ExprPrinter(program, options) {}

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
    for (const DeviceFunction& f : p_.functions) function(f), end_line();
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
      if (b.kind == Bucket::Kind::range)
        put(" range ", b.low, " ", b.high);
      else
        put(" divisor ", b.divisor);
    }
    end_line();
  }

  void buffer_line(BufferId id) {
    const Buffer& b = p_.buffers[id];
    put("buffer ");
    buffer(id);
    put(" ", word(b.scope), " ", dtype_text(b.dtype), " ");
    exprs(b.shape);
    if (!has_default_strides(b)) put(" strides "), exprs(b.strides);
    if (!b.contiguous) put(" strided");
    if (b.direction != Direction::none) put(" ", word(b.direction));
    if (b.parameter >= 0) put(" argument ", b.parameter);
    if (b.alignment != 16) put(" align ", b.alignment);
    if (b.may_alias) put(" may_alias");
    if (is_table(b)) put(is_addressed(b) ? " addressed" : " table");
    if (b.zeroed) put(" zeroed");
    if (b.view_of != kNoBuffer) {
      put(" view ");
      buffer(b.view_of);
    }
    layout(b.layout);
    if (b.arrivals != 0) put(" arrivals ", b.arrivals);
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
    for (const Hint& h : k.hints.all) hint(h);
    if (k.fixed_order || k.persistent || k.planner) put(k.fixed_order ? " fixed_order" : "", k.planner ? " planner" : k.persistent ? " persistent" : "");
    if (k.tile_count != kNoBuffer) put(" count "), buffer(k.tile_count);
    if (k.blocks != kNoVar) put(" blocks "), var(k.blocks);
    if (k.rank != kNoVar) put(" cluster ", k.cluster, " "), var(k.rank);
    if (k.cost) put(" cost "), expr(k.cost);
    if (k.locality) put(" locality "), expr(k.locality);
    if (k.threads) put(" threads ", k.threads);
    if (k.flat) put(" flat");
    if (k.source)
      source(*k.source);
    else
      block(k.body);
    end_line();
  }

  void hint(const Hint& h) {
    const HintRow* row = hint_row(h.kind);
    put(" hint ", row ? row->name : "?", " ", h.value);
    if (h.must) put(" must");
    if (h.target.empty()) return;
    put(" for ");
    quote(h.target);
  }

  void source(const SourceKernel& k) {
    put(" source ");
    quote(k.language);
    put(" entry ");
    quote(k.entry);
    if (!k.block.empty()) {
      put(" block ");
      exprs(k.block);
    }
    if (!k.cluster.empty()) {
      put(" cluster ");
      exprs(k.cluster);
    }
    if (k.shared_bytes) {
      put(" shared ");
      expr(k.shared_bytes);
    }
    for (const std::string& option : k.options) {
      put(" option ");
      quote(option);
    }
    for (const auto& [name, text] : k.headers) {
      put(" header ");
      quote(name);
      put(" ");
      quote(text);
    }
    put(" text ");
    quote(k.text);
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

  using ExprPrinter::body;
  void body(const Alloc& n) {
    put("alloc ");
    buffer(n.buffer);
  }
  void body(const Copy& n) {
    put("copy ");
    region(n.src);
    put(" -> ");
    region(n.dst);
    if (n.safe) put(" safe "), expr(n.safe);
    if (!n.valid.empty()) {
      put(" valid ");
      exprs(n.valid);
    }
    if (n.prefer != CopyPrefer::any) put(" prefer ", word(n.prefer));
    if (n.must) put(" must");
    if (n.eviction != Eviction::normal) put(" evict ", word(n.eviction));
    if (n.multicast) put(" multicast");
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
    if (n.tf32) put(" tf32");
    if (n.issued) put(" issued");
    if (n.sparse()) put(" sparse "), region(n.metadata);
    put(" accumulate "), expr(n.accumulate);
    if (n.split != WarpSplit::automatic) put(" split ", word(n.split));
  }
  void body(const Reduce& n) {
    put("reduce ", word(n.op), " ");
    along(n);
    if (n.accumulate) put(" accumulate");
  }
  using ExprPrinter::region;
  void region(const std::vector<Region>& list) {
    put("[");
    this->list(list, [&](const Region& r) { region(r); });
    put("]");
  }
  template <class N>
  void along(const N& n) {
    region(n.src);
    put(" -> ");
    region(n.dst);
    put(" dim ", n.dim);
  }
  void body(const Fold& n) {
    put("fold ");
    along(n);
    if (n.accumulate) put(" accumulate");
    combine(n.combine);
  }
  void body(const Scan& n) {
    put("scan ");
    along(n);
    if (n.reverse) put(" reverse");
    if (n.exclusive) put(" exclusive");
    combine(n.combine);
  }
  void body(const Pick& n) {
    put("pick ");
    along(n);
    if (n.least) put(" least");
  }
  void body(const Sort& n) {
    put("sort ");
    along(n);
    if (n.descending) put(" descending");
    if (n.index.buffer == kNoBuffer) return;
    put(" index ");
    region(n.index);
  }
  void body(const Reinterpret& n) {
    put("reinterpret ");
    region(n.src);
    put(" -> ");
    region(n.dst);
  }
  void body(const Parallel& n) {
    put(n.threads ? "threads (" : "parallel (");
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
    if (!n.else_body.empty()) put(" else"), block(n.else_body);
  }
  void body(const While& n) {
    put("while");
    block(n.head);
    put(" ");
    expr(n.condition);
    block(n.body);
  }
  void body(const Roles& n) {
    put("roles");
    if (n.issuer_registers || n.worker_registers) put(" registers ", n.issuer_registers, " ", n.worker_registers);
    for (const Block& body : n.issuers) put(" issue"), block(body);
    put(" work"), block(n.work);
  }
  void body(const Jump& n) { put(word(n.kind)); }
  void body(const GridSync&) { put("grid_sync"); }
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
  void body(const Group& n) {
    put("group ");
    quote(n.comment);
    block(n.body);
  }
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
