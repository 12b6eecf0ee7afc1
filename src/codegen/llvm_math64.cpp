// Elementary functions on f64: libm's for each lane, which are within ulp.def, and what is made of them. Those of f32 are
// in llvm_math.cpp.
#include "codegen/llvm_math.h"

namespace tilert::codegen {
namespace {

class Math64Writer {
 public:
  Math64Writer(MathFunction function, int lanes) : function_(function), lanes_(lanes), v_(vector_type(lanes, "double")) {}

  std::string write() {
    const bool two = function_ == MathFunction::pow;
    t_.begin(fmt::format("define internal {0} @{1}({0} %x{2}) alwaysinline nounwind", v_,
                         math_name(function_, DType::f64, lanes_), two ? fmt::format(", {} %y", v_) : ""));
    t_.put("ret {} {}", v_, body());
    t_.end();
    return t_.take();
  }

 private:
  std::string body() {
    switch (function_) {
      case MathFunction::rsqrt: return divide(constant("1.0"), t_.let("call {0} @llvm.sqrt.{1}({0} %x)", v_, mangled()));
      case MathFunction::sigmoid: return sigmoid();
      case MathFunction::pow: return lane_by_lane("pow", {"%x", "%y"});
      default: return lane_by_lane(math_symbol(function_), {"%x"});
    }
  }

  std::string mangled() const { return lanes_ == 1 ? "f64" : fmt::format("v{}f64", lanes_); }
  std::string constant(const char* value) const { return splat_constant(lanes_, "double", value); }
  std::string divide(const std::string& a, const std::string& b) { return t_.let("fdiv {} {}, {}", v_, a, b); }

  // With e^-|x| nothing overflows, and e / (1 + e) keeps the small results.
  std::string sigmoid() {
    const std::string size = t_.let("call {0} @llvm.fabs.{1}({0} %x)", v_, mangled());
    const std::string e = lane_by_lane("exp", {t_.let("fneg {} {}", v_, size)});
    const std::string below = t_.let("fcmp olt {} %x, {}", v_, constant("0.0"));
    const std::string top = t_.let("select {} {}, {} {}, {} {}", vector_type(lanes_, "i1"), below, v_, e, v_, constant("1.0"));
    return divide(top, t_.let("fadd {} {}, {}", v_, e, constant("1.0")));
  }

  std::string lane_by_lane(const char* name, const std::vector<std::string>& operands) {
    const auto call = [&](const std::vector<std::string>& x) {
      std::string list;
      for (const std::string& one : x) list += fmt::format("{}double {}", list.empty() ? "" : ", ", one);
      return t_.let("call double @{}({}) nounwind", name, list);
    };
    if (lanes_ == 1) return call(operands);
    std::string out = "poison";
    for (int i = 0; i < lanes_; ++i) {
      std::vector<std::string> one;
      for (const std::string& x : operands) one.push_back(t_.let("extractelement {} {}, i64 {}", v_, x, i));
      out = t_.let("insertelement {} {}, double {}, i64 {}", v_, out, call(one), i);
    }
    return out;
  }

  const MathFunction function_;
  const int lanes_;
  const std::string v_;
  LlvmText t_;
};

}  // namespace

std::string emit_math64(MathFunction function, int lanes) { return Math64Writer(function, lanes).write(); }

std::string math64_declarations(const std::vector<MathFunction>& functions) {
  std::string text;
  bool exponential = false;
  for (MathFunction f : functions) {
    if (f == MathFunction::rsqrt) continue;
    const bool own = f == MathFunction::sigmoid || f == MathFunction::exp;
    if (own && exponential) continue;
    exponential = exponential || own;
    text += fmt::format("declare double @{}(double{}) nounwind\n", own ? "exp" : math_symbol(f),
                        f == MathFunction::pow ? ", double" : "");
  }
  return text;
}

}  // namespace tilert::codegen
