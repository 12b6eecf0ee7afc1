// JSON values against nlohmann/json, which reads and prints the same.
#include "support/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace tilert {
namespace {

TEST(Json, TextIsReadAsTheSameByAnotherLibrary) {
  Json value{{"b", true}, {"a", Json::list(1, -2, "x", 0.5)}, {"", Json::object()}, {"z", Json()}};
  value["inner"]["n"] = std::numeric_limits<int64_t>::min();
  value["rows"].push_back(
      Json{{"text", "quote \" slash \\ line \n tab \t bell \x07 umlaut \xc3\xa4 face \xf0\x9f\x98\x80"}});
  const nlohmann::json wanted{
      {"b", true},
      {"a", {1, -2, "x", 0.5}},
      {"", nlohmann::json::object()},
      {"z", nullptr},
      {"inner", {{"n", std::numeric_limits<int64_t>::min()}}},
      {"rows", {{{"text", "quote \" slash \\ line \n tab \t bell \x07 umlaut \xc3\xa4 face \xf0\x9f\x98\x80"}}}}};
  for (const int indent : {-1, 2}) {
    EXPECT_EQ(nlohmann::json::parse(value.dump(indent)), wanted);
    EXPECT_EQ(value.dump(indent), wanted.dump(indent));
  }
}

TEST(Json, EachByteSequenceIsWrittenAsUtf8) {
  using nlohmann::json;
  for (unsigned a = 0; a < 256; a += a < 0xc0 ? 7 : 1)
    for (unsigned b = 0; b < 256; b += 3)
      for (unsigned c : {0x00u, 0x41u, 0x80u, 0xbfu, 0xc2u}) {
        const std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                               static_cast<char>(0x90)};
        const json read = json::parse(Json(text).dump());  // throws where it is no UTF-8
        const std::string& out = read.get_ref<const std::string&>();
        bool whole = true;
        try {
          (void)json(text).dump();
        } catch (const json::exception&) {
          whole = false;
        }
        EXPECT_EQ(out == text, whole) << a << " " << b << " " << c;
        EXPECT_EQ(out.find("\xef\xbf\xbd") != std::string::npos, !whole);
      }
}

TEST(Json, MembersAreFoundByKeyAndKeptSorted) {
  Json value;
  for (const char* key : {"m", "b", "z", "a"}) value[key] = key;
  EXPECT_EQ(value.dump(), R"({"a":"a","b":"b","m":"m","z":"z"})");
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(Json(3).find("a"), nullptr);
  value["m"] = 1;
  EXPECT_EQ(value["m"].as_int(), 1);
  EXPECT_EQ(value.size(), 4u);
}

TEST(Json, WhatIsNoNumberIsNull) {
  EXPECT_EQ(Json::list(std::numeric_limits<double>::infinity(), 1.0, 1e300).dump(), "[null,1.0,1e+300]");
}

}  // namespace
}  // namespace tilert
