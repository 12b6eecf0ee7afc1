// Numbers that cross the C interface: the header's own and those of the tables inside agree, value by value.
// Not here: behaviour of the functions (tests/capi).
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "support/dtype.h"
#include "support/result.h"
#include "tilert.h"

namespace tilert {
namespace {

// The name of a dtype in the header, from its spelling in program text: "bf16" is TILERT_BF16, "i4" is TILERT_INT4.
std::string header_name(std::string text) {
  if (text[0] == 'i' && std::isdigit(text[1])) text = "int" + text.substr(1);
  if (text[0] == 'u' && std::isdigit(text[1])) text = "uint" + text.substr(1);
  for (char& c : text) c = static_cast<char>(std::toupper(c));
  return "TILERT_" + text;
}

struct Named {
  const char* name;
  int32_t value;
};
#define TILERT_NAMED(name) {#name, name}

const Named kDTypes[] = {
    TILERT_NAMED(TILERT_BOOL),   TILERT_NAMED(TILERT_INT4),     TILERT_NAMED(TILERT_INT8),     TILERT_NAMED(TILERT_INT16),
    TILERT_NAMED(TILERT_INT32),  TILERT_NAMED(TILERT_INT64),    TILERT_NAMED(TILERT_UINT4),    TILERT_NAMED(TILERT_UINT8),
    TILERT_NAMED(TILERT_UINT16), TILERT_NAMED(TILERT_UINT32),   TILERT_NAMED(TILERT_UINT64),   TILERT_NAMED(TILERT_F16),
    TILERT_NAMED(TILERT_BF16),   TILERT_NAMED(TILERT_F32),      TILERT_NAMED(TILERT_F64),      TILERT_NAMED(TILERT_TF32),
    TILERT_NAMED(TILERT_E4M3),   TILERT_NAMED(TILERT_E5M2),     TILERT_NAMED(TILERT_E4M3FNUZ), TILERT_NAMED(TILERT_E5M2FNUZ),
    TILERT_NAMED(TILERT_E8M0),   TILERT_NAMED(TILERT_E2M3),     TILERT_NAMED(TILERT_E3M2),     TILERT_NAMED(TILERT_E2M1),
    TILERT_NAMED(TILERT_NF4),    TILERT_NAMED(TILERT_INDEX),
};

const Named kStatuses[] = {
    TILERT_NAMED(TILERT_OK),          TILERT_NAMED(TILERT_INVALID_ARGUMENT), TILERT_NAMED(TILERT_INVALID_PROGRAM),
    TILERT_NAMED(TILERT_UNSUPPORTED), TILERT_NAMED(TILERT_UNAVAILABLE),      TILERT_NAMED(TILERT_NOT_READY),
    TILERT_NAMED(TILERT_ALIGNMENT),   TILERT_NAMED(TILERT_SHAPE),            TILERT_NAMED(TILERT_OUT_OF_MEMORY),
    TILERT_NAMED(TILERT_DRIVER),      TILERT_NAMED(TILERT_COMPILE),          TILERT_NAMED(TILERT_FORKED),
    TILERT_NAMED(TILERT_SEALED),      TILERT_NAMED(TILERT_TIMEOUT),          TILERT_NAMED(TILERT_CANCELLED),
    TILERT_NAMED(TILERT_SOURCE_REFUSED), TILERT_NAMED(TILERT_CORRUPT),       TILERT_NAMED(TILERT_INTERNAL),
};

TEST(Numbers, EveryElementTypeHasTheValueThatTheHeaderGivesItsName) {
  int32_t number = 0;
  for (const Named& row : kDTypes) {
    const auto type = static_cast<DType>(row.value);
    EXPECT_EQ(row.value, ++number) << row.name;
    EXPECT_EQ(header_name(std::string(dtype_text(type))), row.name);
  }
  EXPECT_FALSE(dtype_is_known(static_cast<DType>(number + 1)));
}

TEST(Numbers, EveryStatusHasTheValueThatTheHeaderGivesItsName) {
  int32_t number = 0;
  for (const Named& row : kStatuses) {
    EXPECT_EQ(row.value, number++) << row.name;
    EXPECT_EQ("TILERT_" + std::string(code_name(static_cast<Code>(row.value))), row.name);
  }
  EXPECT_STREQ(code_name(static_cast<Code>(number)), "UNKNOWN");
}

TEST(Numbers, TheVersionOfTheHeaderIsThatOfTheBuild) {
  EXPECT_EQ(fmt::format("{}.{}.{}", TILERT_VERSION_MAJOR, TILERT_VERSION_MINOR, TILERT_VERSION_PATCH),
            TILERT_PROJECT_VERSION);
}

}  // namespace
}  // namespace tilert
