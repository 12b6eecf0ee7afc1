// The parser: declarations here, statements in parse_stmt.cpp and parse_tile.cpp, expressions in parse_expr.cpp.
#include "ir/parser.h"

#include "ir/parser_impl.h"
#include "support/refusal.h"

namespace tilert::ir {

Result<Program> Parser::run() {
  header();
  while (!s_.failed() && s_.kind() != Token::end) declaration();
  if (!s_.failed() && p_.kernels.empty()) s_.fail("a kernel");
  if (s_.failed()) return s_.take_error();
  return std::move(p_);
}

void Parser::header() {
  const size_t place = s_.place();
  if (!s_.accept("tir")) return s_.fail("the first line 'tir 1'");
  const int64_t major = integer("a format version");
  if (!s_.failed() && major != kTirMajor)
    s_.fail_at(place, refusal(fmt::format("this is tir version {}", major),
                              fmt::format("version {} is what can be read here", kTirMajor), "; "));
}

void Parser::declaration() {
  if (s_.accept("program"))
    p_.name = string("the program's name in quotes");
  else if (s_.accept("location"))
    location();
  else if (s_.accept("var"))
    variable();
  else if (s_.accept("dim"))
    dim();
  else if (s_.accept("buffer"))
    buffer();
  else if (s_.accept("parameter"))
    parameter();
  else if (s_.accept("define"))
    define();
  else if (s_.is("function"))
    function();
  else if (s_.accept("kernel"))
    kernel();
  else
    s_.fail("program, location, var, dim, buffer, parameter, define, function or kernel");
}

void Parser::location() {
  const size_t place = s_.place();
  const int64_t number = integer("the location's number");
  Location at;
  at.file = string("a file name in quotes");
  at.line = narrow("a line number");
  if (s_.kind() == Token::string) at.label = string("a label");
  if (s_.failed()) return;
  if (number != static_cast<int64_t>(p_.locations.size()))
    return s_.fail_at(place, fmt::format("locations are numbered in order: expected {}", p_.locations.size()));
  p_.locations.push_back(std::move(at));
}

// The name and the id that a declaration's reference carries; the id, where there is one, is the next.
std::string Parser::declared_name(Token kind, size_t next, std::string_view what) {
  if (s_.kind() != kind) {
    s_.fail(what);
    return {};
  }
  const Reference r = split(s_.text());
  if (!r.valid || (r.id && *r.id != next)) {
    s_.fail_at(s_.place(), fmt::format("declarations are numbered in order: expected {} here", next));
    return {};
  }
  s_.advance();
  return std::string(r.name);
}

void Parser::variable() {
  std::string name = declared_name(Token::variable, p_.vars.size(), "a variable, %name or %number");
  const auto kind = choice<VarKind>("dim, scalar, block, loop, let or thread");
  const DType type = dtype();
  if (s_.kind() == Token::string) name = string("a name");
  if (s_.failed()) return;
  declare(var_names_, name, static_cast<uint32_t>(p_.vars.size()));
  p_.add_var(kind, type, std::move(name));
}

void Parser::dim() {
  Dim d{var()};
  if (s_.accept("=")) d.value = integer("the dim's value");
  while (!s_.failed()) {
    if (s_.accept("divisible")) {
      d.divisible = integer("a divisor");
    } else if (s_.accept("range")) {
      Bucket b{Bucket::Kind::range};
      b.low = integer("the bucket's least value");
      b.high = integer("the bucket's greatest value");
      d.buckets.push_back(b);
    } else if (s_.accept("divisor")) {
      Bucket b{Bucket::Kind::divisor};
      b.divisor = integer("the bucket's divisor");
      d.buckets.push_back(b);
    } else {
      break;
    }
  }
  p_.dims.push_back(std::move(d));
}

void Parser::buffer() {
  Buffer b;
  b.name = declared_name(Token::buffer, p_.buffers.size(), "a buffer, @name or @number");
  b.scope = choice<Scope>("global, shared, fragment, var, local, barrier or registers");
  b.dtype = dtype();
  b.shape = exprs(false);
  bool strides = false;
  while (!s_.failed()) {
    if (s_.accept("strides")) {
      b.strides = exprs(false);
      strides = true;
    } else if (s_.accept("strided"))
      b.contiguous = false;
    else if (s_.accept("in"))
      b.direction = Direction::in;
    else if (s_.accept("out"))
      b.direction = Direction::out;
    else if (s_.accept("inout"))
      b.direction = Direction::inout;
    else if (s_.accept("argument"))
      b.parameter = narrow("a parameter's number");
    else if (s_.accept("align"))
      b.alignment = integer("an alignment in bytes");
    else if (s_.accept("may_alias"))
      b.may_alias = true;
    else if (s_.accept("table"))
      b.entries = Entries::counted;
    else if (s_.accept("addressed"))
      b.entries = Entries::addressed;
    else if (s_.accept("zeroed"))
      b.zeroed = true;
    else if (s_.accept("view"))
      b.view_of = buffer_reference();
    else if (s_.accept("layout"))
      b.layout = layout();
    else if (s_.accept("arrivals"))
      b.arrivals = integer("a number of arrivals");
    else if (s_.accept("stages"))
      b.stages = integer("a number of stages");
    else if (s_.accept("offset"))
      b.byte_offset = integer("an offset in bytes");
    else if (s_.accept("!"))
      b.location = location_number();
    else
      break;
  }
  if (s_.kind() == Token::string) b.name = string("a name");
  if (s_.failed()) return;
  declare(buffer_names_, b.name, static_cast<uint32_t>(p_.buffers.size()));
  if (strides)
    p_.buffers.push_back(std::move(b));
  else
    p_.add_buffer(std::move(b));
}

LayoutHint Parser::layout() {
  LayoutHint l;
  l.kind = choice<TileLayout>("row_major, padded, swizzle_32, swizzle_64, swizzle_128 or custom");
  if (l.kind == TileLayout::custom) {
    s_.expect("(");
    while (!s_.failed() && !s_.is(")")) {
      l.vars.push_back(var());
      if (!s_.accept(",")) break;
    }
    s_.expect(")");
    s_.expect("=");
    l.place = expr();
  }
  l.must = s_.accept("must");
  return l;
}

void Parser::parameter() {
  Parameter parameter;
  if (s_.accept("tensor")) {
    parameter.kind = Parameter::Kind::tensor;
    parameter.buffer = buffer_reference();
  } else if (s_.accept("scalar")) {
    parameter.kind = Parameter::Kind::scalar;
    parameter.var = var();
  } else {
    return s_.fail("tensor or scalar");
  }
  if (s_.kind() == Token::string) parameter.name = string("a name");
  p_.parameters.push_back(std::move(parameter));
}

void Parser::kernel() {
  Kernel k;
  k.name = string("the kernel's name in quotes");
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    k.block_vars.push_back(var());
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  s_.expect("grid");
  k.grid = exprs(false);
  hints(k.hints);
  k.fixed_order = s_.accept("fixed_order");
  k.persistent = s_.accept("persistent");
  k.planner = !k.persistent && s_.accept("planner");
  if (k.persistent && s_.accept("count")) k.tile_count = buffer_reference();
  if ((k.persistent || k.planner) && s_.accept("blocks")) k.blocks = var();
  if (s_.accept("cluster")) {
    k.cluster = narrow("a number of blocks");
    k.rank = var();
  }
  if (k.persistent && s_.accept("cost")) k.cost = expr();
  if (k.cost && s_.accept("locality")) k.locality = expr();
  if (s_.accept("threads")) k.threads = narrow("a number of threads");
  k.flat = s_.accept("flat");
  if (s_.is("source"))
    k.source = source_kernel();
  else
    k.body = block(1);
  p_.kernels.push_back(std::move(k));
}

std::shared_ptr<const SourceKernel> Parser::source_kernel() {
  auto k = std::make_shared<SourceKernel>();
  refuse_source("a source kernel");
  s_.expect("source");
  k->language = string("the language in quotes (cuda or llvm)");
  s_.expect("entry");
  k->entry = string("the entry point in quotes");
  while (!s_.failed()) {
    if (s_.accept("block"))
      k->block = exprs(false);
    else if (s_.accept("cluster"))
      k->cluster = exprs(false);
    else if (s_.accept("shared"))
      k->shared_bytes = expr();
    else if (s_.accept("option"))
      k->options.push_back(string("a compiler option in quotes"));
    else if (s_.accept("header")) {
      std::string name = string("a header's name in quotes");
      k->headers.emplace_back(std::move(name), string("the header's text in quotes"));
    } else
      break;
  }
  s_.expect("text");
  k->text = string("the source text in quotes");
  return k;
}

void Parser::function() {
  refuse_source("a device function");
  s_.expect("function");
  DeviceFunction f;
  const size_t place = s_.place();
  f.name = string("the function's name in quotes");
  for (const DeviceFunction& other : p_.functions)
    if (!s_.failed() && other.name == f.name) s_.fail_at(place, fmt::format("the function '{}' is declared twice", f.name));
  s_.expect("(");
  while (!s_.failed() && !s_.is(")")) {
    DeviceFunction::Parameter p{DType::none, Passing::value};
    for (Passing passing : {Passing::read, Passing::write, Passing::update})
      if (p.passing == Passing::value && s_.accept(word(passing))) p.passing = passing;
    p.dtype = dtype();
    f.parameters.push_back(p);
    if (!s_.accept(",")) break;
  }
  s_.expect(")");
  if (s_.accept("gives")) f.result = dtype();
  while (!s_.failed() && s_.accept("text")) {
    std::string language = string("a language in quotes (cuda or llvm)");
    f.texts.emplace_back(std::move(language), string("the definitions in quotes"));
  }
  p_.functions.push_back(std::move(f));
}

void Parser::refuse_source(std::string_view what) {
  if (limits_.allow_source) return;
  s_.fail_at(
      s_.place(),
      fmt::format("{} is code, and reading code was not allowed; pass ALLOW_SOURCE if the text is trusted", what),
      Code::kSourceRefused);
}

void Parser::hints(Hints& h) {
  while (!s_.failed() && s_.accept("hint")) {
    const HintRow* found = nullptr;
    for (const HintRow& row : hint_rows())
      if (!found && s_.accept(row.name)) found = &row;
    if (!found) return s_.fail_at(s_.place(), "this is not the name of a hint");
    Hint hint{found->kind, narrow("the hint's value"), false, {}};
    hint.must = s_.accept("must");
    if (s_.accept("for")) hint.target = string("a target in quotes");
    h.all.push_back(std::move(hint));
  }
}

Result<Program> parse(std::string_view text, std::string_view name, ParseOptions limits) {
  if (text.size() > limits.bytes)
    return make_error(Code::kInvalidProgram, "{}: {} bytes of program text; {} is the limit", name, text.size(),
                      limits.bytes);
  return Parser(text, name, limits).run();
}

}  // namespace tilert::ir
