// Printing of lowered statements; expressions are in c_expr.cpp.
#include "codegen/c_text.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <unordered_map>

#include "ir/inline_text.h"
#include "ir/report.h"
#include "ir/semantics.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::codegen {

using namespace ir;

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::int32: return "int";
    case DType::int64:
    case DType::index: return "tl_i64";
    case DType::tf32:  // f32 whose last bits are zero
    case DType::f32: return "float";
    case DType::f64: return "double";
    default: return fmt::format("tl_{}", dtype_text(dtype));
  }
}

void CText::line(const std::string& text) {
  out_.append(static_cast<size_t>(indent_) * 2, ' ');
  out_ += text;
  out_ += '\n';
}

// A name in the text until take() numbers it: the id between marks that no source has.
namespace {
constexpr char kMark = '\1';

std::string marked(char kind, uint32_t id) { return fmt::format("{}{}{}{}", kMark, kind, id, kMark); }
}  // namespace

std::string CText::var(VarId id) const { return marked('v', id); }

std::string CText::buffer(BufferId id) const {
  const Buffer& b = program_.buffer(id);
  return marked(b.scope == Scope::global ? 'p' : b.scope == Scope::shared ? 's' : 'r', id);
}

// The text without the declarations of tiles that nothing else in it names: those used through their views alone.
std::string CText::without_unused_tiles() const {
  std::unordered_map<std::string_view, size_t> uses;
  const std::string_view in = out_;
  for (size_t mark = in.find(kMark); mark != std::string_view::npos;) {
    const size_t end = in.find(kMark, mark + 1);
    ++uses[in.substr(mark, end + 1 - mark)];
    mark = in.find(kMark, end + 1);
  }
  std::string text;
  size_t at = 0;
  for (const Declaration& d : tiles_) {
    if (uses[d.name] > 1) continue;
    text += in.substr(at, d.begin - at);
    at = d.end;
  }
  text += in.substr(at);
  return text;
}

// By where names stand in the text, not by when they were asked for: in what order the arguments of one call are
// evaluated is the compiler's choice.
std::string CText::take() {
  std::unordered_map<std::string_view, size_t> vars, buffers;
  const std::string kept = without_unused_tiles();
  const std::string_view in = kept;
  std::string text;
  size_t at = 0;
  for (size_t mark = in.find(kMark); mark != std::string_view::npos; mark = in.find(kMark, at)) {
    const size_t end = in.find(kMark, mark + 1);
    const char kind = in[mark + 1];
    auto& numbers = kind == 'v' ? vars : buffers;
    const size_t number = numbers.try_emplace(in.substr(mark + 2, end - mark - 2), numbers.size()).first->second;
    text += in.substr(at, mark - at);
    text += fmt::format("{}{}", kind, number);
    at = end + 1;
  }
  text += in.substr(at);
  return text;
}

bool CText::is_packed(BufferId id) const { return ir::is_packed(program_, id); }

// The first element of an access's buffer. Offsets are the last index.
std::string CText::start(const Access& access) const {
  const Buffer& b = program_.buffer(access.buffer);
  if (!is_addressed(b)) return buffer(access.buffer);
  return fmt::format("tl_entry<{}{}>({})", b.direction == Direction::in ? "const " : "", is_packed(access.buffer) ? "unsigned char" : c_type(b.dtype),
                     expr(access.indices[0]));
}

std::string CText::element(const Access& access) const {
  if (is_packed(access.buffer)) {
    const DType d = program_.buffer(access.buffer).dtype;
    return fmt::format("tl_packed_get<{}, {}>({}, {})", c_type(d), dtype_bits(d), start(access),
                       access.indices.empty() ? "0" : expr(access.indices.back()));
  }
  if (access.indices.empty()) return buffer(access.buffer);
  return fmt::format("{}[{}]", start(access), expr(access.indices.back()));
}

std::string CText::address(const Access& access) const {
  if (access.indices.empty()) return "&" + buffer(access.buffer);
  const Expr index = access.indices.back();
  if (is_packed(access.buffer))
    return fmt::format("tl_packed_byte<{}>({}, {})", dtype_bits(program_.buffer(access.buffer).dtype), start(access), expr(index));
  if (index->is_constant() && index->as_int() == 0) return start(access);
  return fmt::format("{} + {}", start(access), expr(index));
}

void CText::block(const Block& block) {
  for (const StmtPtr& s : block) stmt(*s);
}

// As text an expression is a tree: where that would be much larger than what it is made of, what it uses more than once
// gets a name before the statement. Expressions are pure and total, so that they may be computed early.
void CText::share(const Stmt& s) {
  shared_.clear();
  for_each_expr(s, [&](Expr root) {
    if (root->depth < 8) return;
    constexpr uint64_t kMany = 200, kMost = uint64_t{1} << 40;
    std::unordered_map<Expr, uint64_t> size, uses;
    std::vector<Expr> order;  // operands first
    for_each_node(root, [&](Expr e) {
      uint64_t total = 1;
      for (int i = 0; i < e->arity; ++i) {
        total += size[e->operand[i]];
        ++uses[e->operand[i]];
      }
      size[e] = std::min(total, kMost);
      order.push_back(e);
    });
    if (size[root] < kMany || size[root] < 2 * order.size()) return;
    for (Expr e : order) {
      if (e->arity == 0 || uses[e] < 2 || shared_.count(e)) continue;
      const std::string name = fmt::format("t{}", shared_count_++);
      line(fmt::format("const {} {} = {};", e->dtype == DType::index ? index_type(e) : c_type(e->dtype), name, expr(e)));
      shared_.emplace(e, name);
    }
  });
}

void CText::stmt(const Stmt& s) {
  share(s);
  std::visit(Overload{
                 [&](const Alloc& a) { alloc(a); },
                 [&](const For& f) { loop(f); },
                 [&](const Let& l) { let(l); },
                 [&](const Store& st) { line(fmt::format("{} = {};", element(st.to), expr(st.value))); },
                 [&](const If& i) {
                   open(fmt::format("if ({}) {{", expr(i.condition)));
                   block(i.then_body);
                   if (!i.else_body.empty()) {
                     --indent_;
                     open("} else {");
                     block(i.else_body);
                   }
                   close();
                 },
                 [&](const While& w) {
                   open("while (true) {");
                   block(w.head);
                   line(fmt::format("if (!{}) break;", expr(w.condition)));
                   block(w.body);
                   close();
                 },
                 [&](const Jump& j) { jump(j); },
                 [&](const Atomic& a) { atomic(a); },
                 [&](const Report& r) { report(r); },
                 [&](const Move& m) {
                   if (is_packed(m.src.buffer))
                     return line(fmt::format("tl_unpack<{}, {}>({}, {});", m.count, dtype_bits(program_.buffer(m.src.buffer).dtype),
                                             address(m.dst), address(m.src)));
                   line(fmt::format("tl_move<{}>({}, {});", m.count, address(m.dst), address(m.src)));
                 },
                 [&](const Call& c) { call(c); },
                 [&](const Group& g) {
                   line(fmt::format("// {}", g.comment));
                   open("{");
                   block(g.body);
                   close();
                 },
                 [&](const CallDevice& n) { call_device(n); },
                 [&](const Inline& i) {
                   line(splice(i.text, [&](size_t n) {
                     const auto* e = std::get_if<Expr>(&i.operands[n]);
                     return e ? expr(*e) : element(std::get<Access>(i.operands[n]));
                   }));
                 },
                 // Tile operations are gone before printing; the verifier's lowered stage refuses them.
                 [&](const Copy&) {}, [&](const Fill&) {}, [&](const Gemm&) {}, [&](const Reduce&) {},
                 [&](const Fold&) {}, [&](const Scan&) {}, [&](const Pick&) {}, [&](const Sort&) {}, [&](const Reinterpret&) {}, [&](const Parallel&) {},
                 [&](const GridSync&) {},
                 [&](const ThreadOp&) {}, [&](const AsyncOp&) {}, [&](const Roles&) {},
             },
             s.node);
}

static bool holds_warpgroup_products(const Block& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const auto* call = std::get_if<ir::Call>(&s.node);
    found |= call && call->primitive == Primitive::wgmma_commit;
  });
  return found;
}

// The counter is an int where begin and end are, too: of a loop without trips they may lie anywhere.
void CText::loop(const For& f) {
  const bool is_narrow = narrow_(program_.var(f.var));
  const auto is_int = [&](Expr e) { return bounds_(e).within(INT32_MIN, INT32_MAX); };
  const bool counts_in_int = is_narrow && is_int(f.begin) && is_int(f.end);
  const std::string name = var(f.var), counter = is_narrow && !counts_in_int ? name + "_wide" : name;
  if (f.kind == ForKind::unrolled) line("#pragma unroll");
  else if (holds_warpgroup_products(f.body)) line("#pragma unroll 1");  // ptxas serializes what is in flight from copy to copy (C7518)
  else if (f.copies > 1) line(fmt::format("#pragma unroll {}", f.copies));
  open(fmt::format("for ({} {} = {}; {} {} {}; {}) {{", counts_in_int ? "int" : "tl_i64", counter, expr(f.begin), counter,
                   f.step > 0 ? "<" : ">", expr(f.end),
                   advance(f, counter, counts_in_int ? INT32_MIN : INT64_MIN, counts_in_int ? INT32_MAX : INT64_MAX)));
  if (counter != name) line(fmt::format("const int {} = int({});", name, counter));
  block(f.body);
  close();
}

// A step beyond the end that may leave the counter's type, least to most, stops there, which ends the loop.
std::string CText::advance(const For& f, const std::string& counter, int64_t least, int64_t most) const {
  const bool up = f.step > 0;
  const arith::Range end = bounds_(f.end);
  if (up ? end.high <= most - f.step + 1 : end.low >= least - f.step - 1) return fmt::format("{} += {}", counter, f.step);
  const auto number = [&](int64_t value) { return literal(program_.arena->index(value)); };
  return fmt::format("{0} = {0} {1} {2} ? {3} : {0} + {4}", counter, up ? ">" : "<", number(up ? most - f.step : least - f.step),
                     number(up ? most : least), number(f.step));
}

void CText::let(const Let& l) {
  const Var& v = program_.vars[l.var];
  std::string type = c_type(v.dtype);
  if (v.dtype == DType::index && narrow_(program_.var(l.var))) type = "int";
  const std::string value = l.value ? expr(l.value) : element(l.read);
  line(fmt::format("const {} {} = {};", type, var(l.var), value));
}

// Passes have made branches of all but this one.
void CText::jump(const Jump&) { line("break;"); }

void CText::atomic(const Atomic& a) {
  const Buffer& b = program_.buffer(a.to.buffer);
  const bool system = a.scope == MemoryScope::system;
  const std::string type = c_type(b.dtype);
  const std::string form = fmt::format("<{}, {}>", b.scope == Scope::shared ? 0 : system ? 2 : 1, type);
  const int fence = a.scope == MemoryScope::block ? 0 : system ? 2 : 1;
  const bool load = a.op == AtomicOp::load, store = a.op == AtomicOp::store, swaps = a.op == AtomicOp::cas;
  const bool bare = a.old == kNoVar && a.op != AtomicOp::exchange && !swaps && !store;  // an instruction without an old value
  const bool by_fence = !load && !store;
  std::string name = fmt::format("tl_{}_{}", bare ? "red" : "atomic", word(a.op));
  if (load && acquires(a.order)) name = "tl_load_acquire";
  if (store && releases(a.order)) name = "tl_store_release";
  std::string arguments = address(a.to);
  if (swaps) arguments += ", " + expr(a.expected);
  if (a.value) arguments += ", " + expr(a.value);
  if (by_fence && releases(a.order)) line(fmt::format("tl_fence<{}>();", fence));
  const std::string result = a.old == kNoVar ? "" : fmt::format("const {} {} = ", type, var(a.old));
  line(fmt::format("{}{}{}({});", result, name, form, arguments));
  if (by_fence && acquires(a.order)) line(fmt::format("tl_fence<{}>();", fence));
}

void CText::report(const Report& r) {
  std::string text = fmt::format("tl_report<{}>({}, {}", kReportEntries, buffer(r.ring), r.id);
  for (size_t i = 0; i < 3; ++i) text += ", " + (i < r.block.size() ? expr(r.block[i]) : "0");
  for (Expr e : r.values) text += ", " + expr(e);
  line(text + ");");
}

void CText::call_device(const CallDevice& n) {
  const DeviceFunction& f = program_.functions[n.function];
  std::string arguments;
  for (const DeviceOperand& operand : n.operands)
    arguments += (arguments.empty() ? "" : ", ") + (operand.passing == Passing::value ? expr(operand.value) : address(operand.at));
  const std::string result = n.var == kNoVar ? "" : fmt::format("const {} {} = ", c_type(f.result), var(n.var));
  line(fmt::format("{0}tl_user_{1}::{1}({2});", result, f.name, arguments));
}

std::string c_functions(const Program& program, std::string_view language) {
  std::string out;
  std::set<uint32_t> known;
  for (const Kernel& kernel : program.kernels)
    for_each_stmt(kernel.body, [&](const Stmt& s) {
      const auto* call = std::get_if<CallDevice>(&s.node);
      if (!call || !known.insert(call->function).second) return;
      const DeviceFunction& f = program.functions[call->function];
      const std::string* const text = text_in(f, language);
      if (text) out += fmt::format("\nnamespace tl_user_{} {{\n{}\n}}\n", f.name, *text);
    });
  return out;
}

void CText::alloc(const Alloc& a) {
  const Buffer& b = program_.buffer(a.buffer);
  const size_t begin = out_.size();
  if (b.scope == Scope::shared) {
    const std::string type = is_packed(a.buffer) ? "unsigned char" : c_type(b.dtype);
    line(fmt::format("{}* const {} = reinterpret_cast<{}*>(tl_arena + {});", type, buffer(a.buffer), type, b.byte_offset));
  } else if (b.shape.empty()) {
    line(fmt::format("{} {};", c_type(b.dtype), buffer(a.buffer)));
  } else {
    line(fmt::format("{} {}[{}];", c_type(b.dtype), buffer(a.buffer), b.shape[0]->as_int()));
  }
  tiles_.push_back({buffer(a.buffer), begin, out_.size()});
}

void CText::call(const Call& c) {
  const PrimitiveRow& row = primitive_row(c.primitive);
  std::string templates, arguments;
  const auto add = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; };
  for (size_t i = 0; i < c.args.size(); ++i) {
    const CallArg& a = c.args[i];
    switch (a.kind) {
      case CallArg::Kind::value: add(arguments, expr(a.value)); break;
      case CallArg::Kind::address: add(arguments, address(a.at)); break;
      case CallArg::Kind::registers: add(arguments, fmt::format("tl_slice<{}>({})", a.count, address(a.at))); break;
      case CallArg::Kind::text: add(row.arguments[i] == 't' ? templates : arguments, a.text); break;
    }
  }
  line(templates.empty() ? fmt::format("tl_{}({});", row.name, arguments)
                         : fmt::format("tl_{}<{}>({});", row.name, templates, arguments));
}

}  // namespace tilert::codegen
