// Writing LLVM IR as text: fresh names, one instruction a line. Intrinsics need no declaration (LLVM 19's parser makes
// it). Not here: what the instructions compute.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilert {
struct Target;
}

namespace tilert::codegen {

// What the writers of CPU code read of a target.
struct CpuIsa {
  enum class Family : uint8_t { x86, arm, other };
  Family family = Family::other;
  int lanes = 4;        // f32 in a vector register
  int registers = 16;   // vector registers
  bool fma = false;     // fused multiply-add on vectors; else products round by themselves
  bool f16c = false;    // conversions between f16 and f32; else by integer arithmetic
  bool masked = false;  // masked loads and stores as cheap as plain ones
};
CpuIsa cpu_isa(const Target& target);

// The body of functions under construction. Values are strings: "%v12", "0.0", "%arg".
class LlvmText {
 public:
  // %vN = <instruction>; the name comes back.
  template <class... Args>
  std::string let(fmt::format_string<Args...> format, Args&&... args) {
    std::string name = fmt::format("%v{}", next_++);
    text_ += fmt::format("  {} = {}\n", name, fmt::format(format, std::forward<Args>(args)...));
    return name;
  }
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  template <class... Args>
  void raw(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  std::string fresh_label(std::string_view stem) { return fmt::format("{}{}", stem, next_++); }
  void label(const std::string& name) {
    text_ += name + ":\n";
    block_ = name;
  }
  const std::string& block() const { return block_; }  // the block that instructions now go to

  void begin(const std::string& header) {  // "define internal void @f(i64 %n) noinline"
    text_ += header + " {\n";
    next_ = 0;
    label("entry");
  }
  void end() { text_ += "}\n\n"; }

  std::string take() { return std::move(text_); }

  // Leaves the innermost loop; what is written next is never reached.
  void leave_loop() {
    put("br label %{}", ends_.back());
    label(fresh_label("dead"));
  }
  void enter_loop(const std::string& end) { ends_.push_back(end); }
  void exit_loop() { ends_.pop_back(); }

 private:
  std::string text_, block_;
  std::vector<std::string> ends_;  // of the loops being written, which carry nothing where something leaves them
  int next_ = 0;
};

// for (index = from; index < to; index += step) body(index), values carried along. `to` and `from` are i64 values.
struct Carried {
  std::string type, value;  // the value before the loop; after it, the value after the last round
};
template <class Body>
void emit_loop(LlvmText& t, const std::string& from, const std::string& to, int64_t step, std::vector<Carried>& carried,
               Body body);
template <class Body>
void emit_loop(LlvmText& t, const std::string& from, const std::string& to, int64_t step, Body body);
template <class Then>
void emit_if(LlvmText& t, const std::string& condition, Then then);
template <class Then, class Else>
void emit_if_else(LlvmText& t, const std::string& condition, Then then, Else otherwise);

// ---- vectors

inline std::string vector_type(int lanes, std::string_view element) {
  return lanes == 1 ? std::string(element) : fmt::format("<{} x {}>", lanes, element);
}
// All lanes the scalar value `value` of type `element`.
std::string splat(LlvmText& t, int lanes, std::string_view element, const std::string& value);
// A constant vector: <float 1.0, float 1.0, ...>, or the scalar for one lane. `value` as the IR spells it.
std::string splat_constant(int lanes, std::string_view element, std::string_view value);
// f32 constants in the IR are written as the bits of the double of the same value.
std::string f32_constant(float value);
// <lanes x i1>: base + lane < count (an i32 value).
std::string lanes_below(LlvmText& t, int lanes, int base, const std::string& count);
// "<16 x i32> <i32 0, i32 3, ...>", the mask of a shufflevector.
std::string shuffle_mask(const std::vector<int>& lanes);

// ---- definitions of the templates

template <class Body>
void emit_loop(LlvmText& t, const std::string& from, const std::string& to, int64_t step, std::vector<Carried>& carried,
               Body body) {
  const std::string head = t.fresh_label("loop"), before = t.block(), done = t.fresh_label("done");
  const std::string latch = t.fresh_label("latch");
  const std::string enter = t.let("icmp slt i64 {}, {}", from, to);
  t.put("br i1 {}, label %{}, label %{}", enter, head, done);
  t.label(head);
  const std::string index = "%" + t.fresh_label("i"), next = "%" + t.fresh_label("n");
  t.put("{} = phi i64 [ {}, %{} ], [ {}, %{} ]", index, from, before, next, latch);
  std::vector<std::string> out(carried.size());
  std::vector<Carried> inner = carried;
  for (size_t i = 0; i < carried.size(); ++i) {
    out[i] = "%" + t.fresh_label("o");
    inner[i].value = t.let("phi {} [ {}, %{} ], [ {}, %{} ]", carried[i].type, carried[i].value, before, out[i], latch);
  }
  t.enter_loop(done);
  body(index, inner);
  t.exit_loop();
  t.put("br label %{}", latch);
  const std::string last = t.block();
  t.label(latch);
  for (size_t i = 0; i < carried.size(); ++i)
    t.put("{} = phi {} [ {}, %{} ]", out[i], carried[i].type, inner[i].value, last);
  t.put("{} = add nsw i64 {}, {}", next, index, step);
  const std::string again = t.let("icmp slt i64 {}, {}", next, to);
  t.put("br i1 {}, label %{}, label %{}", again, head, done);
  t.label(done);
  for (size_t i = 0; i < carried.size(); ++i)
    carried[i].value = t.let("phi {} [ {}, %{} ], [ {}, %{} ]", carried[i].type, carried[i].value, before, out[i], latch);
}

template <class Body>
void emit_loop(LlvmText& t, const std::string& from, const std::string& to, int64_t step, Body body) {
  std::vector<Carried> none;
  emit_loop(t, from, to, step, none, [&](const std::string& index, std::vector<Carried>&) { body(index); });
}

template <class Then>
void emit_if(LlvmText& t, const std::string& condition, Then then) {
  const std::string yes = t.fresh_label("then"), after = t.fresh_label("after");
  t.put("br i1 {}, label %{}, label %{}", condition, yes, after);
  t.label(yes);
  then();
  t.put("br label %{}", after);
  t.label(after);
}

template <class Then, class Else>
void emit_if_else(LlvmText& t, const std::string& condition, Then then, Else otherwise) {
  const std::string yes = t.fresh_label("then"), no = t.fresh_label("else"), after = t.fresh_label("after");
  t.put("br i1 {}, label %{}, label %{}", condition, yes, no);
  t.label(yes);
  then();
  t.put("br label %{}", after);
  t.label(no);
  otherwise();
  t.put("br label %{}", after);
  t.label(after);
}

}  // namespace tilert::codegen
