// The builder's device functions: functions of one's own text, declared once and called wherever a value may stand.
// tl::Builder is one of these. Use through tilert.hpp; what they may do is in tilert.h.
#ifndef TILERT_FUNCTIONS_HPP_
#define TILERT_FUNCTIONS_HPP_

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilert/async.hpp"

namespace tl {

// How a device function takes an operand: a dtype alone is a value, the others are pointers to an element.
struct FunctionParameter {
  tilert_function_parameter raw{};
  FunctionParameter(DType dtype, tilert_passing passing = TILERT_BY_VALUE) {
    raw.dtype = static_cast<tilert_dtype>(dtype);
    raw.passing = passing;
  }
};
inline FunctionParameter pointer_read(DType dtype) { return {dtype, TILERT_BY_READ_POINTER}; }
inline FunctionParameter pointer_write(DType dtype) { return {dtype, TILERT_BY_WRITE_POINTER}; }
inline FunctionParameter pointer_update(DType dtype) { return {dtype, TILERT_BY_UPDATE_POINTER}; }

struct SourceText {
  const char *language, *text;  // "cuda" or "llvm"; definitions
};

// Of the builder that declared it. Plain: copy it freely.
class DeviceFunction {
 public:
  DeviceFunction() = default;
  DeviceFunction(tilert_function id, std::vector<tilert_passing> passing, bool gives)
      : id_(id), passing_(std::move(passing)), gives_(gives) {}
  tilert_function id() const { return id_; }
  bool takes_place(size_t operand) const { return operand < passing_.size() && passing_[operand] != TILERT_BY_VALUE; }
  bool gives() const { return gives_; }

 private:
  tilert_function id_{};
  std::vector<tilert_passing> passing_;
  bool gives_ = false;
};

// The function of a call, and the place of the call.
struct Callee {
  const DeviceFunction& function;
  Here here;
  Callee(const DeviceFunction& f, Here h = Here::at()) : function(f), here(h) {}
};

namespace detail {

class FunctionCalls : public AsyncCalls {
 public:
  DeviceFunction device_function(const char* name, std::initializer_list<FunctionParameter> parameters, DType result,
                                 std::initializer_list<SourceText> texts, Here here = Here::at()) {
    return declare(name, parameters, static_cast<tilert_dtype>(result), texts, here);
  }
  // One that gives no value.
  DeviceFunction device_function(const char* name, std::initializer_list<FunctionParameter> parameters,
                                 std::initializer_list<SourceText> texts, Here here = Here::at()) {
    return declare(name, parameters, 0, texts, here);
  }
  // An element where the function takes a pointer is a place; everything else is a value, read here. Gives the function's
  // value, or none.
  template <class... Operands>
  Expr call_device(Callee callee, const Operands&... operands) {
    size_t next = 0;
    const std::vector<Operand> list{operand(callee.function.takes_place(next++), operands)...};
    (void)next;
    std::vector<tilert_operand> raw;
    for (const Operand& one : list) raw.push_back({one.value, one.place ? &one.place->region : nullptr});
    at(callee.here);
    tilert_expr result{};
    tilert_builder_call_device(raw_, callee.function.id(), raw.data(), static_cast<uint32_t>(raw.size()),
                               callee.function.gives() ? &result : nullptr);
    return {raw_, result};
  }

 private:
  struct Operand {
    tilert_expr value{};
    std::shared_ptr<Region::Raw> place;
  };
  template <class T>
  Operand operand(bool is_place, const T& given) {
    Operand out;
    if constexpr (std::is_base_of<Region, T>::value) {
      if (is_place) {
        out.place = std::make_shared<Region::Raw>(given);
        return out;
      }
    }
    out.value = Expr(given).in(raw_);
    return out;
  }

  DeviceFunction declare(const char* name, std::initializer_list<FunctionParameter> parameters, tilert_dtype result,
                         std::initializer_list<SourceText> texts, const Here& here) {
    at(here);
    std::vector<tilert_function_parameter> list;
    std::vector<tilert_passing> passing;
    for (const FunctionParameter& p : parameters) {
      list.push_back(p.raw);
      passing.push_back(p.raw.passing);
    }
    std::vector<tilert_source_text> sources;
    for (const SourceText& t : texts) sources.push_back({t.language, t.text});
    tilert_device_function f{};
    f.struct_size = sizeof f;
    f.result = result;
    f.name = name;
    f.parameters = list.data();
    f.parameter_count = static_cast<uint32_t>(list.size());
    f.texts = sources.data();
    f.text_count = static_cast<uint32_t>(sources.size());
    return {tilert_builder_device_function(raw_, &f), std::move(passing), result != 0};
  }
};

}  // namespace detail
}  // namespace tl

#endif  // TILERT_FUNCTIONS_HPP_
