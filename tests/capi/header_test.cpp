// What tilert.h names as examples exists: its features, its targets; and the status that it gives for an unknown target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "programs.h"

namespace {

using testing::HasSubstr;

std::string text_of(const char* file) {
  std::ifstream in(std::string(TILERT_SOURCE_DIR "/") + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}
std::string header() { return text_of("include/tilert.h"); }

std::set<std::string> quoted_words(const std::string& text, const char* words = "\"([^\"]+)\"") {
  std::set<std::string> out;
  const std::regex word(words);
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) out.insert((*it)[1]);
  return out;
}

tilert_status make_kernel(const std::string& target, std::string& message) {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  const tl::Context context = *tl::Context::create(options);
  const tl::Program program = tilert::test::scale(tl::f32, 64);
  tilert_kernel_options kernel_options{};
  kernel_options.struct_size = sizeof kernel_options;
  kernel_options.target = target.c_str();
  tilert_kernel* kernel = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_kernel_create(context.get(), program.get(), &kernel_options, &kernel, &error);
  message = tilert_error_message(error);
  tilert_error_release(error);
  tilert_kernel_release(kernel);
  return status;
}

TEST(Header, ItsExamplesOfFeaturesAreFeatures) {
  const std::string text = header();
  const size_t end = text.find("tilert_feature(const char* name");
  ASSERT_NE(end, std::string::npos);
  const size_t begin = text.rfind("/*", end);
  const std::set<std::string> names = quoted_words(text.substr(begin, end - begin));
  EXPECT_GE(names.size(), 3u);
  for (const std::string& name : names) EXPECT_NE(tilert_feature(name.c_str(), nullptr), TILERT_INVALID_ARGUMENT) << name;
  EXPECT_EQ(tilert_feature("no such thing", nullptr), TILERT_INVALID_ARGUMENT);
}

// The page of the language ends with what this version refuses: all of it, and nothing that it does.
TEST(Header, WhatTheLanguagesPageCallsMissingIsWhatIsRefused) {
  const std::string page = text_of("docs/language.md");
  const size_t at = page.find("## Not in this version");
  ASSERT_NE(at, std::string::npos);
  std::set<std::string> said = quoted_words(page.substr(at), "`([a-z_0-9]+)`");
  const std::set<std::string> refused = quoted_words(text_of("src/builder/refusals.def"), "\nTILERT_REFUSAL\\(([a-z_0-9]+),");
  EXPECT_EQ(said, refused);
  for (const std::string& name : refused) EXPECT_EQ(tilert_feature(name.c_str(), nullptr), TILERT_UNSUPPORTED) << name;
  for (const char* done : {"barrier", "explicit_instructions", "roles", "cluster"}) EXPECT_EQ(tilert_feature(done, nullptr), TILERT_OK) << done;
}

TEST(Header, ARecordOfALaunchWhichItDescribesIsAFeature) {
  EXPECT_NE(header().find("TILERT_RECORD_ENTRY_BYTES"), std::string::npos);
  EXPECT_EQ(tilert_feature("launch_record", nullptr), TILERT_OK);
}

TEST(Header, ItsExamplesOfTargetsAreTargets) {
  std::istringstream lines(header());
  std::set<std::string> targets;
  for (std::string line; std::getline(lines, line);)
    if (line.find("const char* target;") != std::string::npos) targets.merge(quoted_words(line));
  EXPECT_THAT(targets, testing::IsSupersetOf({"sm_90a", "cpu"}));
  for (const std::string& target : targets) {
    std::string message;
    EXPECT_EQ(make_kernel(target, message), TILERT_OK) << target << ": " << message;
  }
}

TEST(Header, AnUnknownTargetIsUnsupportedAndTheKnownOnesAreNamed) {
  std::string message;
  EXPECT_EQ(make_kernel("x86-64-v3", message), TILERT_UNSUPPORTED);
  EXPECT_THAT(message, testing::AllOf(HasSubstr("'x86-64-v3'"), HasSubstr("cpu:x86-64-v3"), HasSubstr("sm_90a")));
  EXPECT_EQ(make_kernel("sm_70", message), TILERT_UNSUPPORTED);
  EXPECT_THAT(message, HasSubstr("'sm_70' is older than sm_75"));
  const std::string text = header();
  const size_t at = text.find("tilert_kernel_create(");
  EXPECT_THAT(text.substr(text.rfind("/*", at), at - text.rfind("/*", at)), HasSubstr("TILERT_UNSUPPORTED (a target"));
}

}  // namespace
