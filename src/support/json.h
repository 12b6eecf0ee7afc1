// JSON values that are told: configurations and explanations. nlohmann/json's destructor allocates and ends the process
// where there is no memory; here an allocation that fails is std::bad_alloc and nothing else.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tilert {

// null, a boolean, an integer, a float, a string, an array, or an object whose keys are sorted.
class Json {
 public:
  struct Member;

  Json() = default;
  Json(bool value) : value_(value) {}
  template <std::integral T>
  Json(T value) : value_(static_cast<int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::initializer_list<Member> members);

  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }
  // An array of these, or of what a container holds.
  template <class... T>
  static Json list(T&&... elements) {
    Json out = array();
    (out.push_back(std::forward<T>(elements)), ...);
    return out;
  }
  template <class Container>
  static Json of(const Container& elements) {
    Json out = array();
    for (const auto& element : elements) out.push_back(Json(element));
    return out;
  }

  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_float() const { return std::holds_alternative<double>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  // Of a value that is one.
  const std::string& as_string() const { return std::get<std::string>(value_); }
  bool as_bool() const { return std::get<bool>(value_); }
  int64_t as_int() const { return std::get<int64_t>(value_); }
  double as_float() const { return std::get<double>(value_); }

  // The member of that key, made where there is none; null becomes an object.
  Json& operator[](std::string_view key);
  // The member of that key, which is there.
  const Json& operator[](std::string_view key) const { return *find(key); }
  // NULL where there is none.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  // Null becomes an array.
  void push_back(Json element);
  std::vector<Json>& elements() { return std::get<Array>(value_); }
  const std::vector<Json>& elements() const { return std::get<Array>(value_); }
  std::vector<std::pair<std::string, Json>>& members() { return std::get<Object>(value_); }
  size_t size() const;  // of an array or an object, else 0
  bool empty() const { return size() == 0; }

  // As text, in lines indented by `indent` or in one line without spaces. What is no UTF-8 becomes U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // sorted by key
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}
  void print(std::string& out, int indent, int depth) const;

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  template <class T>
  Member(const char* key, T&& value) : key(key), value(std::forward<T>(value)) {}
  std::string key;
  Json value;
};

}  // namespace tilert
