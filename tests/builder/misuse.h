// The table of misuse: what a row is, and the test that each goes through.
#pragma once

#include <functional>

#include "kit.h"

namespace tilert::builder {

using testing::HasSubstr;

// What most rows start from: parameters A (in), C (out) [N, 64] f16, an open kernel, a shared tile s [8, 64] f16 that
// was filled, a fragment f [8, 64] f32 that was cleared.
struct Scene : Kit {
  tilert_dim N = dim("N");
  tilert_tensor A = tensor("A", TILERT_IN, TILERT_F16, {dv(N), i(64)});
  tilert_tensor C = tensor("C", TILERT_OUT, TILERT_F16, {dv(N), i(64)});
  tilert_scalar scale = b.scalar("scale", TILERT_F32);
  tilert_buffer s{}, f{};
  explicit Scene(bool inside = true) {
    if (!inside) return;
    kernel({i(4)});
    s = tile(TILERT_SHARED, TILERT_F16, {8, 64}, "s");
    f = tile(TILERT_FRAGMENT, TILERT_F32, {8, 64}, "f");
    clear(at(s));
    clear(at(f));
    b.at("user.cc", 42, "here");
  }
};

struct Row {
  const char* name;
  std::vector<const char*> says;
  std::function<void(Scene&)> misuse;
  bool inside = true;
};
inline void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// What each row claims.
inline void check_misuse(const Row& row) {
  Scene scene(row.inside);
  ASSERT_EQ(scene.b.status(), Code::kOk);
  row.misuse(scene);
  EXPECT_NE(scene.b.status(), Code::kOk);
  const std::string message = scene.message();
  for (const char* part : row.says) EXPECT_THAT(message, HasSubstr(part));
  if (row.inside) {
    EXPECT_THAT(message, HasSubstr("user.cc:42"));
  }
}

}  // namespace tilert::builder
