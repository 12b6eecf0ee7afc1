// Whole files, directories and the cache directory's name.
#include "support/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace tilert {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tilert_files.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(root_), {}));
  }

  std::string root_;
};

// Sets a variable for one scope; null unsets it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(Files, BytesOfEveryValueComeBackAsWritten) {
  std::string bytes;
  for (int i = 0; i < 200000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  ASSERT_TRUE(write_file(root_ + "/a", bytes));
  auto read = read_file(root_ + "/a");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes);
}

TEST_F(Files, AnEmptyFileIsAnEmptyString) {
  ASSERT_TRUE(write_file(root_ + "/a", ""));
  auto read = read_file(root_ + "/a");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "");
}

TEST_F(Files, WritingReplacesAndLeavesNothingElse) {
  ASSERT_TRUE(write_file(root_ + "/a", "a long first text"));
  ASSERT_TRUE(write_file(root_ + "/a", "short"));
  EXPECT_EQ(*read_file(root_ + "/a"), "short");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AFileIsReadableByItsOwnerAlone) {
  ASSERT_TRUE(write_file(root_ + "/a", "x"));
  struct stat info;
  ASSERT_EQ(stat((root_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Files, AFailedReplacementNamesThePathAndLeavesNothing) {
  ASSERT_TRUE(make_directories(root_ + "/a/inner"));
  auto written = write_file(root_ + "/a", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kUnavailable);
  EXPECT_NE(written.error().message.find(root_ + "/a"), std::string::npos);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AMissingFileIsNamed) {
  auto read = read_file(root_ + "/absent");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnavailable);
  EXPECT_NE(read.error().message.find(root_ + "/absent"), std::string::npos);
  EXPECT_FALSE(file_exists(root_ + "/absent"));
}

TEST_F(Files, AFileAboveTheLimitIsRefusedAndOneAtTheLimitIsNot) {
  ASSERT_TRUE(write_file(root_ + "/a", "12345678"));
  EXPECT_TRUE(read_file(root_ + "/a", 8));
  auto read = read_file(root_ + "/a", 7);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("larger than 7 bytes"), std::string::npos);
}

TEST_F(Files, ADirectoryIsNoFile) { EXPECT_FALSE(read_file(root_)); }

TEST_F(Files, AnUnboundedDeviceStopsAtTheLimit) { EXPECT_FALSE(read_file("/dev/zero", 1 << 20)); }

TEST_F(Files, DirectoriesAreMadeWithTheirParentsAndMakingThemAgainSucceeds) {
  const std::string path = root_ + "/x/y/z";
  ASSERT_TRUE(make_directories(path));
  ASSERT_TRUE(make_directories(path));
  ASSERT_TRUE(make_directories(path + "/"));
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(Files, ADirectoryBelowAFileIsRefused) {
  ASSERT_TRUE(write_file(root_ + "/a", "x"));
  EXPECT_FALSE(make_directories(root_ + "/a/b"));
  EXPECT_FALSE(make_directories(root_ + "/a"));
}

TEST(CacheDirectory, PrefersXdgThenHomeAndIgnoresRelativePaths) {
  const Variable home("HOME", "/some/home");
  {
    const Variable xdg("XDG_CACHE_HOME", "/some/cache");
    EXPECT_EQ(*user_cache_directory(), "/some/cache/tilert");
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative/cache"}) {
    const Variable xdg("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(*user_cache_directory(), "/some/home/.cache/tilert");
  }
}

TEST(CacheDirectory, WithoutAnyVariableTheErrorNamesBoth) {
  const Variable home("HOME", nullptr);
  const Variable xdg("XDG_CACHE_HOME", nullptr);
  auto path = user_cache_directory();
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("XDG_CACHE_HOME"), std::string::npos);
  EXPECT_NE(path.error().message.find("HOME"), std::string::npos);
}

TEST(Environment, AnEmptyVariableCountsAsUnset) {
  const Variable empty("TILERT_TEST_VARIABLE", "");
  EXPECT_FALSE(environment("TILERT_TEST_VARIABLE"));
  const Variable set("TILERT_TEST_VARIABLE", "v");
  EXPECT_EQ(environment("TILERT_TEST_VARIABLE"), "v");
}

}  // namespace
}  // namespace tilert
