// Tile operations of .tir; what stands around and inside of them is in parse_stmt.cpp.
#include "ir/parser_impl.h"

namespace tilert::ir {

Stmt::Node Parser::copy() {
  Copy n;
  n.src = region();
  arrow();
  n.dst = region();
  while (!s_.failed()) {
    if (s_.accept("safe"))
      n.safe = expr();
    else if (s_.accept("valid"))
      n.valid = exprs(true);
    else if (s_.accept("prefer"))
      n.prefer = choice<CopyPrefer>("any, tma, async or sync");
    else if (s_.accept("must"))
      n.must = true;
    else if (s_.accept("evict"))
      n.eviction = choice<Eviction>("normal, first or last");
    else if (s_.accept("multicast"))
      n.multicast = true;
    else
      break;
  }
  return n;
}

Stmt::Node Parser::gemm() {
  Gemm n;
  n.a = region();
  s_.expect(",");
  n.b = region();
  s_.expect(",");
  n.c = region();
  n.accumulate = p_.arena->boolean(true);
  while (!s_.failed()) {
    if (s_.accept("trans_a"))
      n.trans_a = true;
    else if (s_.accept("trans_b"))
      n.trans_b = true;
    else if (s_.accept("tf32"))
      n.tf32 = true;
    else if (s_.accept("sparse"))
      n.metadata = region();
    else if (s_.accept("issued"))
      n.issued = true;
    else if (s_.accept("accumulate"))
      n.accumulate = expr();
    else if (s_.accept("split"))
      n.split = choice<WarpSplit>("automatic, rows, columns or square");
    else
      break;
  }
  return n;
}

Stmt::Node Parser::reduce() {
  Reduce n;
  n.op =
      choice<ReduceOp>("a reduction (sum, prod, max, min, max_nan, min_nan, absmax, abssum, bit_and, bit_or, bit_xor)");
  along(n, &Parser::region, "the reduced dim's number");
  n.accumulate = s_.accept("accumulate");
  return n;
}

std::vector<Region> Parser::regions() {
  std::vector<Region> list;
  s_.expect("[");
  while (!s_.failed() && !s_.is("]")) {
    list.push_back(region());
    if (!s_.accept(",")) break;
  }
  s_.expect("]");
  return list;
}

Combine Parser::combine() {
  Combine c;
  s_.expect("by");
  for (std::vector<VarId>* side : {&c.left, &c.right}) {
    s_.expect("(");
    while (!s_.failed() && !s_.is(")")) {
      side->push_back(var());
      if (!s_.accept(",")) break;
    }
    s_.expect(")");
  }
  s_.expect("=");
  c.result = exprs(false);
  s_.expect("from");
  c.identity = exprs(false);
  return c;
}

Stmt::Node Parser::fold() {
  Fold n;
  along(n, &Parser::regions, "the folded dim's number");
  n.accumulate = s_.accept("accumulate");
  n.combine = combine();
  return n;
}

Stmt::Node Parser::scan() {
  Scan n;
  along(n, &Parser::regions, "the scanned dim's number");
  n.reverse = s_.accept("reverse");
  n.exclusive = s_.accept("exclusive");
  n.combine = combine();
  return n;
}

Stmt::Node Parser::pick() {
  Pick n;
  along(n, &Parser::region, "the dim's number");
  n.least = s_.accept("least");
  return n;
}

Stmt::Node Parser::sort() {
  Sort n;
  along(n, &Parser::region, "the sorted dim's number");
  n.descending = s_.accept("descending");
  if (s_.accept("index")) n.index = region();
  return n;
}

Stmt::Node Parser::reinterpret() {
  Reinterpret n;
  n.src = region();
  arrow();
  n.dst = region();
  return n;
}

}  // namespace tilert::ir
