// Arithmetic on the bits of f32 values as LLVM IR text. For the files that convert floats only.
#pragma once

#include "codegen/llvm_text.h"

namespace tilert::codegen {

// Integer arithmetic on <lanes x i32>, with constants written as numbers.
class Words {
 public:
  Words(LlvmText& t, int lanes) : t_(t), lanes_(lanes), type_(vector_type(lanes, "i32")) {}

  std::string constant(uint32_t value) const { return splat_constant(lanes_, "i32", std::to_string(static_cast<int32_t>(value))); }
  std::string op(const char* name, const std::string& a, uint32_t b) { return op(name, a, constant(b)); }
  std::string op(const char* name, const std::string& a, const std::string& b) {
    return t_.let("{} {} {}, {}", name, type_, a, b);
  }
  std::string compare(const char* relation, const std::string& a, uint32_t b) {
    return t_.let("icmp {} {} {}, {}", relation, type_, a, constant(b));
  }
  std::string select(const std::string& mask, const std::string& a, const std::string& b) {
    return t_.let("select {0} {1}, {2} {3}, {2} {4}", vector_type(lanes_, "i1"), mask, type_, a, b);
  }
  std::string from_float(const std::string& x) { return t_.let("bitcast {} {} to {}", floats(), x, type_); }
  std::string to_float(const std::string& x) { return t_.let("bitcast {} {} to {}", type_, x, floats()); }
  std::string from_half_word(const std::string& x) { return t_.let("zext {} {} to {}", halves(), x, type_); }
  std::string to_half_word(const std::string& x) { return t_.let("trunc {} {} to {}", type_, x, halves()); }
  std::string from_byte(const std::string& x) { return t_.let("zext {} {} to {}", bytes(), x, type_); }
  std::string to_byte(const std::string& x) { return t_.let("trunc {} {} to {}", type_, x, bytes()); }
  std::string real(float x) const { return splat_constant(lanes_, "float", f32_constant(x)); }
  std::string real_op(const char* name, const std::string& a, const std::string& b) {
    return t_.let("{} {} {}, {}", name, floats(), a, b);
  }
  std::string real_compare(const char* relation, const std::string& a, const std::string& b) {
    return t_.let("fcmp {} {} {}, {}", relation, floats(), a, b);
  }
  std::string real_select(const std::string& mask, const std::string& a, const std::string& b) {
    return t_.let("select {0} {1}, {2} {3}, {2} {4}", vector_type(lanes_, "i1"), mask, floats(), a, b);
  }
  std::string bytes() const { return vector_type(lanes_, "i8"); }
  std::string floats() const { return vector_type(lanes_, "float"); }
  std::string halves() const { return vector_type(lanes_, "i16"); }

 private:
  LlvmText& t_;
  const int lanes_;
  const std::string type_;
};

}  // namespace tilert::codegen
