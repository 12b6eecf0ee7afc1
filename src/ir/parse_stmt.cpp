// Statements of .tir; tile operations are in parse_tile.cpp.
#include "ir/parser_impl.h"

namespace tilert::ir {

Block Parser::block(int depth) {
  Block statements;
  s_.expect("{");
  if (depth > limits_.block_depth) {
    s_.fail_at(s_.place(), fmt::format("blocks nest more than {} deep here", limits_.block_depth));
    return {};
  }
  while (!s_.failed() && !s_.is("}")) {
    if (s_.accept("define"))
      define();
    else
      statements.push_back(stmt(depth));
  }
  s_.expect("}");
  if (s_.failed()) return {};
  return statements;
}

StmtPtr Parser::stmt(int depth) {
  Stmt s;
  if (s_.kind() == Token::number) {
    const size_t place = s_.place();
    const int ordinal = narrow("a statement's ordinal");
    if (ordinal < 0) s_.fail_at(place, "a statement's ordinal is not negative");
    s.ordinal = static_cast<uint32_t>(ordinal);
    if (s_.accept("!")) s.location = location_number();
    s_.expect(":");
  }
  s.node = node(depth);
  return std::make_shared<const Stmt>(std::move(s));
}

Stmt::Node Parser::node(int depth) {
  if (s_.accept("alloc")) return Alloc{buffer_reference()};
  if (s_.accept("copy")) return copy();
  if (s_.accept("fill")) {
    Fill n;
    n.dst = region();
    s_.expect("=");
    n.value = expr();
    return n;
  }
  if (s_.accept("gemm")) return gemm();
  if (s_.accept("reduce")) return reduce();
  if (s_.accept("fold")) return fold();
  if (s_.accept("scan")) return scan();
  if (s_.accept("pick")) return pick();
  if (s_.accept("sort")) return sort();
  if (s_.accept("reinterpret")) return reinterpret();
  if (s_.accept("parallel")) return parallel(depth, false);
  if (s_.accept("threads")) return parallel(depth, true);
  if (s_.accept("for")) return loop(depth);
  if (s_.accept("if")) return conditional(depth);
  if (s_.accept("while")) return while_loop(depth);
  if (s_.accept("roles")) return roles(depth);
  if (s_.accept("break")) return Jump{JumpKind::leave};
  if (s_.accept("continue")) return Jump{JumpKind::next};
  if (s_.accept("return")) return Jump{JumpKind::finish};
  if (s_.accept("atomic")) return atomic();
  if (s_.accept("grid_sync")) return GridSync{};
  if (s_.is("print") || s_.is("assert")) return report();
  if (s_.accept("together")) return thread_op();
  if (s_.accept("async")) return async_op();
  if (s_.accept("let")) return let();
  if (s_.accept("store")) {
    Store n;
    n.to = access();
    s_.expect("=");
    n.value = expr();
    return n;
  }
  if (s_.is("inline")) return inline_source();
  if (s_.is("call_device")) return call_device();
  if (s_.accept("move")) return move();
  if (s_.accept("call")) return call();
  if (s_.accept("group")) {
    Group n;
    n.comment = string("the group's comment in quotes");
    n.body = block(depth + 1);
    return n;
  }
  s_.fail(
      "a statement (alloc, copy, fill, gemm, reduce, fold, scan, pick, sort, reinterpret, parallel, threads, for, if, while, roles, break, "
      "continue, return, let, store, atomic, together, async, print, assert, inline, call_device, move, call, group) or '}'");
  return Alloc{0};
}

void Parser::arrow() {
  if (s_.kind() != Token::arrow) return s_.fail("'->'");
  s_.advance();
}

Region Parser::region() {
  Region r;
  r.buffer = buffer_reference();
  s_.expect("[");
  while (!s_.failed() && !s_.is("]")) {
    r.offsets.push_back(expr());
    s_.expect(":");
    r.extents.push_back(integer("an extent"));
    if (!s_.accept(",")) break;
  }
  s_.expect("]");
  return r;
}

Access Parser::access() {
  Access a;
  a.buffer = buffer_reference();
  a.indices = exprs(false);
  return a;
}

Stmt::Node Parser::parallel(int depth, bool threads) {
  Parallel n;
  n.threads = threads;
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    n.vars.push_back(var());
    s_.expect(":");
    n.extents.push_back(integer("an extent"));
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  n.contract = !s_.accept("exact");
  n.body = block(depth + 1);
  return n;
}

Stmt::Node Parser::loop(int depth) {
  For n;
  n.kind = choice<ForKind>("serial, unrolled or pipelined");
  n.var = var();
  s_.expect("=");
  n.begin = expr();
  s_.expect("to");
  n.end = expr();
  if (s_.accept("step")) n.step = integer("a step");
  if (s_.accept("stages")) n.stages = narrow("a number of stages");
  n.body = block(depth + 1);
  return n;
}

Stmt::Node Parser::conditional(int depth) {
  If n;
  n.condition = expr();
  n.then_body = block(depth + 1);
  if (s_.accept("else")) n.else_body = block(depth + 1);
  return n;
}

Stmt::Node Parser::while_loop(int depth) {
  While n;
  n.head = block(depth + 1);
  n.condition = expr();
  n.body = block(depth + 1);
  return n;
}

Stmt::Node Parser::roles(int depth) {
  Roles n;
  if (s_.accept("registers")) {
    n.issuer_registers = narrow("registers of an issuer");
    n.worker_registers = narrow("registers of a worker");
  }
  while (!s_.failed() && s_.accept("issue")) n.issuers.push_back(block(depth + 1));
  s_.expect("work");
  n.work = block(depth + 1);
  return n;
}

Stmt::Node Parser::atomic() {
  Atomic n{};
  if (s_.kind() == Token::variable) {
    n.old = var();
    s_.expect("=");
  }
  n.op = choice<AtomicOp>("an atomic operation (add, max, min, bit_and, bit_or, bit_xor, exchange, cas, load, store)");
  n.to = access();
  if (s_.accept("with")) n.value = expr();
  if (s_.accept("expected")) n.expected = expr();
  for (MemoryOrder order : {MemoryOrder::acquire, MemoryOrder::release, MemoryOrder::acq_rel})
    if (s_.accept(word(order))) n.order = order;
  if (s_.accept("scope")) n.scope = choice<MemoryScope>("device, block or system");
  return n;
}

Stmt::Node Parser::report() {
  Report n;
  n.failed = s_.accept("assert");
  if (!n.failed) s_.expect("print");
  n.message = string("the message in quotes");
  n.values = exprs(false);
  s_.expect("at");
  n.block = exprs(false);
  if (s_.accept("id")) n.id = static_cast<uint32_t>(std::max(narrow("a report's id"), 0));
  if (s_.accept("ring")) n.ring = buffer_reference();
  return n;
}

Stmt::Node Parser::thread_op() {
  ThreadOp n{};
  if (s_.kind() == Token::variable) {
    n.var = var();
    s_.expect("=");
  }
  n.kind = choice<ThreadOpKind>(
      "an operation of threads (shuffle, shuffle_up, shuffle_down, shuffle_xor, all, any, ballot, sync, fence, copy, commit, wait)");
  if (n.kind == ThreadOpKind::fence) n.scope = choice<MemoryScope>("device, block or system");
  if (n.kind <= ThreadOpKind::ballot) {
    n.value = expr();
    if (s_.accept("by")) n.lane = expr();
  } else if (n.kind == ThreadOpKind::copy) {
    n.dst = access();
    s_.expect("=");
    n.src = access();
  }
  if (s_.accept("number")) n.number = integer("a width, the number of a barrier or of groups");
  n.count = s_.accept("count") ? integer("a number of threads or elements") : 0;
  return n;
}

Stmt::Node Parser::async_op() {
  AsyncOp n{};
  n.kind = choice<AsyncOpKind>("an operation of barriers or tensor copies (arrive, expect, wait, load, store, commit, written, read, close, multiplied)");
  if (n.kind == AsyncOpKind::load || n.kind == AsyncOpKind::store) {
    n.src = region();
    arrow();
    n.dst = region();
    if (s_.accept("on")) n.barrier = access();
  } else if (n.kind <= AsyncOpKind::wait) {
    n.barrier = access();
  }
  if (s_.accept("phase")) n.value = expr();
  if (s_.accept("number")) n.number = integer("a number of bytes or groups");
  return n;
}

Stmt::Node Parser::let() {
  Let n;
  n.var = var();
  s_.expect("=");
  if (s_.accept("load"))
    n.read = access();
  else
    n.value = expr();
  return n;
}

Stmt::Node Parser::inline_source() {
  refuse_source("inline source");
  Inline n;
  s_.expect("inline");
  n.target = string("a target in quotes (cuda, hip or llvm)");
  n.text = string("the source text in quotes");
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    if (s_.kind() == Token::buffer)
      n.operands.emplace_back(access());
    else
      n.operands.emplace_back(expr());
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  return n;
}

// How each operand is passed is the declaration's matter.
Stmt::Node Parser::call_device() {
  refuse_source("a call of a device function");
  s_.expect("call_device");
  CallDevice n;
  if (s_.kind() == Token::variable) {
    n.var = var();
    s_.expect("=");
  }
  const size_t place = s_.place();
  const std::string name = string("the name of a device function in quotes");
  while (n.function < p_.functions.size() && p_.functions[n.function].name != name) ++n.function;
  if (s_.failed()) return n;
  if (n.function == p_.functions.size()) {
    s_.fail_at(place, fmt::format("no device function '{}' is declared", name));
    return n;
  }
  const auto& parameters = p_.functions[n.function].parameters;
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    const size_t number = n.operands.size();
    if (number >= parameters.size()) {
      s_.fail_at(s_.place(), fmt::format("the device function '{}' takes {} operands", name, parameters.size()));
      return n;
    }
    DeviceOperand operand{parameters[number].passing, nullptr, {}};
    if (operand.passing == Passing::value) operand.value = expr();
    else operand.at = access();
    n.operands.push_back(std::move(operand));
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  return n;
}

Stmt::Node Parser::move() {
  Move n;
  n.dst = access();
  s_.expect("=");
  n.src = access();
  s_.expect("count");
  n.count = integer("a number of elements");
  return n;
}

Stmt::Node Parser::call() {
  Call n;
  const PrimitiveRow* row = s_.kind() == Token::word ? primitive_from_name(s_.text()) : nullptr;
  if (!row) {
    s_.fail("the name of a primitive");
    return Alloc{0};
  }
  s_.advance();
  n.primitive = row->primitive;
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    n.args.push_back(argument());
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  return n;
}

CallArg Parser::argument() {
  CallArg arg;
  if (s_.kind() == Token::string) {
    arg.kind = CallArg::Kind::text;
    arg.text = string("a text");
  } else if (s_.accept("address")) {
    arg.kind = CallArg::Kind::address;
    arg.at = access();
  } else if (s_.accept("registers")) {
    arg.kind = CallArg::Kind::registers;
    arg.at = access();
    s_.expect(":");
    arg.count = integer("a number of registers");
  } else {
    arg.value = expr();
  }
  return arg;
}

}  // namespace tilert::ir
