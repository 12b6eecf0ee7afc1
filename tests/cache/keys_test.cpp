// Keys are pure content: every field counts, order counts only where it means something, and every process agrees.
#include "cache/keys.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <functional>
#include <random>
#include <set>

namespace tilert {
namespace {

RequestFields request() {
  return {"program text", {{"M", 128}, {"N", -1}}, "sm_90a", "sms=132", {{"stages", "3"}, {"math", "exact"}}};
}

BinaryFields binary() { return {"source text", {"--std=c++17", "-DN=3"}, "sm_90a"}; }

TEST(Keys, EveryFieldOfARequestChangesItsKey) {
  std::vector<std::function<void(RequestFields&)>> changes = {[](auto& f) { f.program += " "; },
                                                              [](auto& f) { f.bound_dims[0].second = 129; },
                                                              [](auto& f) { f.bound_dims[0].first = "K"; },
                                                              [](auto& f) { f.bound_dims.pop_back(); },
                                                              [](auto& f) { f.target = "sm_90"; },
                                                              [](auto& f) { f.device_class = "sms=114"; },
                                                              [](auto& f) { f.options[0].second = "4"; },
                                                              [](auto& f) { f.options[0].first = "stage"; },
                                                              [](auto& f) { f.options.clear(); },
                                                              [](auto& f) { f.bound_dims.clear(); }};
  std::set<RequestKey> keys = {request_key(request())};
  for (auto& change : changes) {
    RequestFields fields = request();
    change(fields);
    EXPECT_TRUE(keys.insert(request_key(fields)).second);
  }
}

TEST(Keys, EveryFieldOfABinaryChangesItsKey) {
  std::vector<std::function<void(BinaryFields&)>> changes = {
      [](auto& f) { f.source += " "; }, [](auto& f) { f.target = "sm_80"; }, [](auto& f) { f.options[1] = "-DN=4"; },
      [](auto& f) { f.options.pop_back(); }, [](auto& f) { std::swap(f.options[0], f.options[1]); }};
  std::set<BinaryKey> keys = {binary_key(binary())};
  for (auto& change : changes) {
    BinaryFields fields = binary();
    change(fields);
    EXPECT_TRUE(keys.insert(binary_key(fields)).second);
  }
}

TEST(Keys, TheOrderInWhichDimsAndOptionsAreGivenDoesNotMatter) {
  RequestFields shuffled = request();
  std::swap(shuffled.bound_dims[0], shuffled.bound_dims[1]);
  std::swap(shuffled.options[0], shuffled.options[1]);
  EXPECT_EQ(request_key(request()), request_key(shuffled));
}

TEST(Keys, FieldsDoNotRunIntoEachOther) {
  auto digest = [](auto build) {
    KeyBuilder builder("test");
    build(builder);
    return builder.finish();
  };
  std::set<Digest> digests;
  size_t count = 0;
  auto differs = [&](auto build) {
    digests.insert(digest(build));
    EXPECT_EQ(digests.size(), ++count);
  };
  differs([](auto&) {});
  differs([](auto& b) { b.text("a", "bc"); });
  differs([](auto& b) { b.text("ab", "c"); });
  differs([](auto& b) { b.text("a", "b").text("", "c"); });
  differs([](auto& b) { b.text("a", "").text("bc", ""); });
  differs([](auto& b) { b.text("a", std::string("bc\0", 3)); });
  differs([](auto& b) { b.number("a", 1); });
  differs([](auto& b) { b.signed_number("a", 1); });
  differs([](auto& b) { b.text("a", std::string("\1\0\0\0\0\0\0\0", 8)); });
  differs([](auto& b) { b.list("a", {}); });
  differs([](auto& b) { b.list("a", {"b", "c"}); });
  differs([](auto& b) { b.list("a", {"bc"}); });
  differs([](auto& b) { b.list("a", {"b"}).list("a", {"c"}); });
}

TEST(Keys, RandomFieldsGiveTheSameKeyOnlyWhenTheyAreEqual) {
  std::mt19937 random(1);
  auto word = [&] { return std::string(random() % 3, static_cast<char>('a' + random() % 2)); };
  std::set<std::vector<std::string>> contents;
  std::set<Digest> digests;
  for (int i = 0; i < 20000; ++i) {
    BinaryFields fields{word(), {}, word()};
    for (size_t n = random() % 3; n > 0; --n) fields.options.push_back(word());
    std::vector<std::string> content = {fields.source, fields.target};
    content.insert(content.end(), fields.options.begin(), fields.options.end());
    contents.insert(content);
    digests.insert(binary_key(fields).digest);
  }
  EXPECT_EQ(contents.size(), digests.size());
}

// A change here makes every stored entry unreachable: then kKeyFormat changes too.
TEST(Keys, TheKeysOfThisFormatAreThese) {
  ASSERT_EQ(kKeyFormat, 1u);
  EXPECT_EQ(to_hex(request_key(request()).digest), "1d15348e0a18851d98683222b11bf405a2b54893738408bb4a12e9483f7f7d05");
  EXPECT_EQ(to_hex(binary_key(binary()).digest), "5a5c82338bf2c3b9b96b87a6e72f3ad89867525a73ada0f9ca6904bb29411e5a");
}

TEST(Keys, AHundredProcessesComputeTheSameKeys) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  for (int i = 0; i < 100; ++i) {
    if (fork() != 0) continue;
    (void)!chdir(i % 2 ? "/" : "/tmp");
    setlocale(LC_ALL, i % 3 ? "C" : "");
    fesetround(i % 4 ? FE_UPWARD : FE_DOWNWARD);
    setenv("CPATH", std::to_string(i).c_str(), 1);
    std::string line = to_hex(request_key(request()).digest) + to_hex(binary_key(binary()).digest);
    (void)!write(pipes[1], line.data(), line.size());
    _exit(0);
  }
  close(pipes[1]);
  std::string all(64 * 2 * 100 + 1, '\0');
  size_t size = 0;
  for (ssize_t n; (n = read(pipes[0], all.data() + size, all.size() - size)) > 0;) size += static_cast<size_t>(n);
  close(pipes[0]);
  while (wait(nullptr) > 0) {
  }
  ASSERT_EQ(size, 64u * 2 * 100);
  std::string expected = to_hex(request_key(request()).digest) + to_hex(binary_key(binary()).digest);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(all.substr(i * 128, 128), expected);
}

}  // namespace
}  // namespace tilert
