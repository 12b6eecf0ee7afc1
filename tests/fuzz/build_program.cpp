// Bytes as calls of the builder: a byte picks the call, those behind it pick ids, numbers and options. Most picks are
// sound, so that programs get deep; some are anything. A program that is handed out is whole. How these bytes are read
// never changes; new functions of the builder belong into every_call.cpp.
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/every_call.h"

namespace tilert::fuzz {
namespace {

class Calls {
 public:
  explicit Calls(Bytes& in) : in_(in) { tilert_builder_create("fuzz", &b_); }
  ~Calls() { tilert_builder_release(b_); }

  void step() {
    static constexpr void (Calls::*kCalls[])() = {
        &Calls::dim,    &Calls::tensor, &Calls::scalar,    &Calls::buffer, &Calls::number, &Calls::constant,
        &Calls::op,     &Calls::op,     &Calls::cast,      &Calls::let,    &Calls::load,   &Calls::store,
        &Calls::copy,   &Calls::fill,   &Calls::gemm,      &Calls::reduce, &Calls::kernel, &Calls::parallel,
        &Calls::serial, &Calls::branch, &Calls::pipelined, &Calls::end,    &Calls::end,    &Calls::source};
    (this->*kCalls[in_.below(sizeof kCalls / sizeof kCalls[0])])();
  }

  void finish() {
    while (!open_.empty()) end();
    finish_and_check(b_);
  }

 private:
  template <class Id>
  Id pick(const std::vector<Id>& from) {
    if (in_.wild()) {
      const uint64_t bits = in_.wide();
      Id out{};
      std::memcpy(&out, &bits, sizeof out);
      return out;
    }
    return from.empty() ? Id{} : from[in_.next() % from.size()];
  }
  tilert_expr expr() {
    switch (in_.below(5)) {
      case 0: return tilert_builder_index(b_, in_.below(40));
      case 1: return tilert_builder_literal(b_, TILERT_INT64, in_.below(9));
      default: return pick(exprs_);
    }
  }
  tilert_expr small() { return in_.wild() ? expr() : tilert_builder_index(b_, 1 + in_.below(16)); }
  void keep(tilert_expr e) {
    if (e.serial) exprs_.push_back(e);
  }
  const tilert_expr* list(uint32_t count, bool sizes) {
    for (uint32_t i = 0; i < count && i < 9; ++i) room_[i] = sizes ? small() : expr();
    return in_.wild() ? nullptr : room_;
  }
  tilert_dtype dtype() {
    static constexpr tilert_dtype kUsual[] = {TILERT_BOOL, TILERT_INT8, TILERT_INT32, TILERT_INT64,
                                              TILERT_F16,  TILERT_BF16, TILERT_F32};
    return in_.wild() ? static_cast<tilert_dtype>(in_.next()) : kUsual[in_.below(7)];
  }
  int32_t code(uint32_t n) {
    return in_.wild() ? static_cast<int32_t>(in_.wide()) : static_cast<int32_t>(in_.below(n));
  }

  int32_t code_from_1(uint32_t n) { return static_cast<int32_t>(static_cast<uint32_t>(code(n)) + 1); }

  struct Place {
    tilert_region region{};
    tilert_expr offsets[8], extents[8];
  };
  void fill_place(Place& p, bool element) {
    if (in_.below(3) == 0)
      p.region.tensor = pick(tensors_);
    else
      p.region.buffer = pick(buffers_);
    p.region.rank = in_.below(element ? 3 : 4);
    for (uint32_t i = 0; i < p.region.rank; ++i) p.offsets[i] = expr(), p.extents[i] = small();
    if (p.region.rank) p.region.offsets = p.offsets;
    if (p.region.rank && !element && in_.below(3)) p.region.extents = p.extents;
    if (in_.wild())
      p.region.rank = in_.next(), p.region.offsets = p.region.rank > 8 ? nullptr : p.offsets,
      p.region.extents = nullptr;
  }
  template <class T>
  const T* sized(T& options) {
    options.struct_size = in_.wild() ? static_cast<uint32_t>(in_.below(sizeof(T) + 1)) : sizeof(T);
    return in_.wild() ? nullptr : &options;
  }

  void dim() {
    tilert_dim_options o{};
    tilert_bucket buckets[2] = {{TILERT_BUCKET_RANGE, 0, in_.below(9), 9}, {TILERT_BUCKET_DIVISOR, 0, code(20), 0}};
    o.buckets = buckets;
    o.bucket_count = in_.below(3);
    o.divisible = code(9);
    const std::string name = "D" + std::to_string(names_++);
    const tilert_dim d = tilert_builder_dim(b_, in_.wild() ? nullptr : name.c_str(), sized(o));
    keep(tilert_builder_dim_value(b_, d));
  }
  void tensor() {
    tilert_tensor_options o{};
    o.alignment = in_.below(2) ? 0 : static_cast<uint32_t>(code(64));
    o.flags = in_.below(4) ? 0 : static_cast<uint32_t>(code(4));
    const std::string name = "T" + std::to_string(names_++);
    const int32_t access = code_from_1(3);
    const tilert_dtype type = dtype();
    const uint32_t rank = in_.below(4);
    const tilert_tensor t =
        tilert_builder_tensor(b_, name.c_str(), access, type, list(rank, in_.below(2)), rank, sized(o));
    if (t.serial) tensors_.push_back(t);
  }
  void scalar() {
    const std::string name = "S" + std::to_string(names_++);
    keep(tilert_builder_scalar_value(b_, tilert_builder_scalar(b_, name.c_str(), dtype())));
  }
  void buffer() {
    tilert_buffer_options o{};
    const tilert_scope scope = code_from_1(4);
    const uint32_t rank = scope == TILERT_VAR ? 0 : 1 + in_.below(3);
    const tilert_dtype type = dtype();
    const tilert_buffer t = tilert_builder_buffer(b_, scope, type, list(rank, true), rank, sized(o));
    if (t.serial) buffers_.push_back(t);
  }
  void number() { keep(tilert_builder_index(b_, in_.wild() ? static_cast<int64_t>(in_.wide()) : in_.below(64))); }
  void constant() {
    const tilert_dtype type = dtype();
    keep(in_.below(2) ? tilert_builder_constant(b_, type, in_.wild() ? in_.wide() : in_.below(2))
                      : tilert_builder_literal(b_, type, in_.wild() ? in_.wide() : in_.below(8)));
  }
  void op() {
    const int32_t which = code_from_1(47);
    const uint32_t count = which >= 45 && which <= 46 ? 3 : which >= 24 && which <= 44 ? 1 : 2;
    keep(tilert_builder_op(b_, which, list(count, false), in_.wild() ? in_.below(6) : count));
  }
  void cast() {
    const tilert_dtype type = dtype();
    keep(in_.below(4) ? tilert_builder_cast(b_, type, expr(), in_.wild())
                      : tilert_builder_reinterpret(b_, type, expr()));
  }
  void let() { keep(tilert_builder_let(b_, expr())); }
  void load() {
    Place p;
    fill_place(p, true);
    keep(tilert_builder_load(b_, &p.region));
  }
  void store() {
    Place p;
    fill_place(p, true);
    tilert_builder_store(b_, &p.region, expr());
  }
  void copy() {
    Place from, to;
    fill_place(from, false), fill_place(to, false);
    tilert_copy_options o{};
    o.prefer = in_.below(3) ? 0 : code(4);
    o.flags = in_.below(8) ? 0 : static_cast<uint32_t>(code(2));
    o.eviction = in_.below(3) ? 0 : static_cast<uint32_t>(code(4));
    if (in_.below(3) == 0) o.safe_value = expr();
    if (in_.below(3) == 0) o.valid_count = 1 + in_.below(3), o.valid = list(o.valid_count, false);
    tilert_builder_copy(b_, &from.region, &to.region, sized(o));
  }
  void fill() {
    Place p;
    fill_place(p, false);
    if (in_.below(2))
      tilert_builder_clear(b_, &p.region);
    else
      tilert_builder_fill(b_, &p.region, expr());
  }
  void gemm() {
    Place a, b, c;
    fill_place(a, false), fill_place(b, false), fill_place(c, false);
    tilert_gemm_options o{};
    o.flags = static_cast<uint32_t>(code(8));
    o.warp_split = code(4);
    if (in_.below(4) == 0) o.accumulate = expr();
    Place places;
    if (o.flags == 1 && o.warp_split == 1) fill_place(places, false), o.metadata = &places.region;
    tilert_builder_gemm(b_, &a.region, &b.region, &c.region, sized(o));
  }
  void reduce() {
    Place from, to;
    fill_place(from, false), fill_place(to, false);
    tilert_reduce_options o{};
    o.flags = in_.below(2);
    tilert_builder_reduce(b_, code_from_1(13), &from.region, &to.region, static_cast<uint32_t>(code(3)), sized(o));
  }
  void kernel() {
    tilert_hint hints[2] = {};
    for (tilert_hint& h : hints) h.struct_size = sizeof h, h.kind = code_from_1(9), h.value = code(200);
    tilert_grid g{};
    g.struct_size = in_.wild() ? in_.next() % sizeof g : sizeof g;
    g.rank = 1 + in_.below(3);
    g.extents = list(g.rank, in_.below(2));
    g.flags = in_.below(4) ? 0 : static_cast<uint32_t>(code(16));
    g.hint_count = in_.below(3);
    g.hints = hints;
    tilert_expr block[3] = {};
    tilert_builder_begin_kernel(b_, &g, block);
    opened(tilert_builder_end_kernel, block, 3);
  }
  void parallel() {
    const uint32_t rank = 1 + in_.below(3);
    tilert_expr indices[8] = {};
    tilert_builder_begin_parallel(b_, list(rank, true), rank, indices);
    opened(tilert_builder_end_parallel, indices, rank);
  }
  void serial() {
    tilert_expr index{};
    const tilert_expr begin = in_.below(2) ? tilert_expr{} : expr(), end = small(),
                      step = in_.below(2) ? tilert_expr{} : expr();
    tilert_builder_begin_serial(b_, code_from_1(2), begin, end, step, &index);
    opened(tilert_builder_end_serial, &index, 1);
  }
  void pipelined() {
    tilert_expr index{};
    const tilert_expr extent = expr();
    tilert_builder_begin_pipelined(b_, extent, static_cast<uint32_t>(code(6)), &index);
    opened(tilert_builder_end_pipelined, &index, 1);
  }
  void branch() {
    tilert_builder_begin_if(b_, expr());
    if (in_.below(4) == 0) tilert_builder_begin_else(b_);
    opened(tilert_builder_end_if, nullptr, 0);
  }
  void source() {
    if (in_.wild()) return in_.below(2) ? source_kernel() : in_.below(4) ? place() : call_device();
    tilert_inline_source s{};
    s.struct_size = sizeof s;
    s.language = in_.below(2) ? "cuda" : "llvm";
    s.text = "// $0 \"quoted\"\n";
    s.value_count = in_.below(2);
    s.values = list(s.value_count, false);
    tilert_builder_inline_source(b_, &s);
  }
  void call_device() {
    const tilert_function_parameter parameters[2] = {{dtype(), code(4)}, {dtype(), code(4)}};
    const tilert_source_text texts[2] = {{"cuda", "__device__ f \"quoted\"\n"}, {in_.below(2) ? "llvm" : "cuda", "define @f"}};
    tilert_device_function f{};
    f.struct_size = in_.wild() ? static_cast<uint32_t>(in_.below(sizeof f + 1)) : sizeof f;
    f.result = in_.below(2) ? dtype() : 0;
    f.name = in_.wild() ? "a b" : "f";
    f.parameters = in_.wild() ? nullptr : parameters;
    f.parameter_count = in_.below(3);
    f.texts = texts;
    f.text_count = in_.below(3);
    const tilert_function made = tilert_builder_device_function(b_, &f);
    Place places[2];
    tilert_operand operands[2];
    for (int i = 0; i < 2; ++i) {
      fill_place(places[i], true);
      operands[i] = {expr(), in_.below(2) ? &places[i].region : nullptr};
    }
    tilert_expr result{};
    tilert_builder_call_device(b_, in_.wild() ? tilert_function{made.serial, in_.next()} : made, in_.wild() ? nullptr : operands, in_.below(3),
                               in_.below(2) ? &result : nullptr);
    keep(result);
  }
  void source_kernel() {
    static const char* const kOptions[] = {"--use_fast_math", "-DX=1", "--gpu-architecture=sm_80"};
    tilert_header header{"a.h", "int x;\n"};
    tilert_source_kernel s{};
    s.struct_size = in_.wild() ? static_cast<uint32_t>(in_.below(sizeof s + 1)) : sizeof s;
    s.grid_rank = 1 + in_.below(3);
    s.language = in_.below(2) ? "cuda" : "llvm";
    s.text = in_.wild() ? "#include \"/etc/passwd\"\n" : "#include \"a.h\"\nextern \"C\" __global__ void f() {}\n";
    s.entry = in_.wild() ? nullptr : "f";
    s.headers = &header;
    s.header_count = in_.below(2);
    s.options = kOptions;
    s.option_count = in_.below(4);
    tilert_expr grid[4], block[3];
    for (tilert_expr& e : grid) e = small();
    for (tilert_expr& e : block) e = small();
    s.grid = in_.wild() ? nullptr : grid;
    s.block = in_.below(2) ? block : nullptr;
    s.cluster = in_.below(4) ? nullptr : block;
    if (in_.below(3) == 0) s.shared_bytes = expr();
    tilert_builder_source_kernel(b_, &s);
  }
  void place() { tilert_builder_at(b_, in_.below(2) ? "a\"b\\c.cc" : nullptr, in_.next(), in_.below(2) ? "a label\n" : nullptr); }
  using End = tilert_status (*)(tilert_builder*);
  void opened(End how, const tilert_expr* made, uint32_t count) {
    open_.push_back(how);
    for (uint32_t i = 0; i < count; ++i) keep(made[i]);
  }
  void end() {
    if (open_.empty()) return;
    open_.back()(b_);
    open_.pop_back();
  }

  Bytes& in_;
  tilert_builder* b_ = nullptr;
  std::vector<tilert_expr> exprs_;
  std::vector<tilert_tensor> tensors_;
  std::vector<tilert_buffer> buffers_;
  std::vector<End> open_;
  tilert_expr room_[9] = {};
  int names_ = 0;
};

}  // namespace

// What programs tell of themselves.
static void check_parts(const tilert_program* program) {
  tilert_program_has_source(program);
  TILERT_NOTE(tilert_program_has_source);
  TILERT_NOTE(tilert_program_dim_name);
  TILERT_NOTE(tilert_program_dim_count);
  TILERT_NOTE(tilert_program_parameter_count);
  const uint32_t parameters = tilert_program_parameter_count(program), dims = tilert_program_dim_count(program);
  for (uint32_t i = 0; i <= parameters; ++i) {
    tilert_parameter_info info{};
    info.struct_size = sizeof info;
    promise((TILERT_CALL(tilert_program_parameter, program, i, &info) == TILERT_OK) == (i < parameters), "each parameter is known, and no other");
    promise(i == parameters || (info.name && *info.name), "a parameter has a name");
  }
  for (uint32_t i = 0; i <= dims; ++i) promise((tilert_program_dim_name(program, i) != nullptr) == (i < dims), "each dim has a name");
}

static void check(tilert_program* program) {
  const char *text = nullptr, *hash = nullptr, *other = nullptr;
  size_t size = 0;
  promise(TILERT_CALL(tilert_program_text, program, &text, &size, nullptr) == TILERT_OK, "a program has a text");
  promise(TILERT_CALL(tilert_program_hash, program, &hash, nullptr) == TILERT_OK, "a program has a hash");
  check_parts(program);
  tilert_program* again = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = TILERT_CALL(tilert_program_parse, text, size, "built", TILERT_ALLOW_SOURCE, &again, &error);
  if (status != TILERT_OK) std::fprintf(stderr, "%s\n%s\n", tilert_error_message(error), text);
  promise(status == TILERT_OK, "what was built parses");
  promise(tilert_program_hash(again, &other, nullptr) == TILERT_OK && std::strcmp(hash, other) == 0,
          "the text is the same program");
  tilert_error_release(error);
  tilert_program_release(again);
}

void finish_and_check(tilert_builder* builder) {
  tilert_program* program = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = TILERT_CALL(tilert_builder_finish, builder, &program, &error);
  promise(status != TILERT_INTERNAL, "no calls are our own fault");
  promise((status == TILERT_OK) == (program != nullptr), "a program comes with success alone");
  if (status != TILERT_OK) promise(std::strlen(tilert_error_message(error)) > 0, "a failure says why");
  tilert_error_release(error);
  if (!program) return;
  tilert_program_retain(program);
  tilert_program_release(program);
  TILERT_NOTE(tilert_program_retain);
  TILERT_NOTE(tilert_program_release);
  check(program);
  tilert_program_release(program);
}

template <class Of>
static void read(Bytes bytes) {
  Of calls(bytes);
  for (int i = 0; i < 400 && !bytes.empty(); ++i) calls.step();
  calls.finish();
}

void build_program(const uint8_t* data, size_t size) {
  const size_t mark = sizeof kEveryCall - 1;
  if (size >= mark && std::memcmp(data, kEveryCall, mark) == 0) read<EveryCall>({data + mark, size - mark});
  else read<Calls>({data, size});
}

}  // namespace tilert::fuzz
