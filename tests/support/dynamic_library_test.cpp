// Finding libraries and functions at run time, and what the errors say.
#include "support/dynamic_library.h"

#include <gtest/gtest.h>

namespace tilert {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(DynamicLibrary, TheFirstCandidateThatLoadsIsTakenAndItsFunctionsWork) {
  auto library = DynamicLibrary::open("the mathematics library", {"/nowhere/libm.so", "libm.so.6"});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_TRUE(library->is_open());
  EXPECT_TRUE(contains(library->path(), "libm.so.6"));
  EXPECT_EQ(library->path().front(), '/');
  auto cosine = library->function<double(double)>("cos");
  ASSERT_TRUE(cosine);
  EXPECT_EQ((*cosine)(0.0), 1.0);
}

TEST(DynamicLibrary, TheErrorNamesTheLibraryAndEveryPathTried) {
  auto library = DynamicLibrary::open("the fast compiler", {"/nowhere/liba.so.1", "", "libtilert_absent_b.so"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kUnavailable);
  const std::string& message = library.error().message;
  EXPECT_TRUE(contains(message, "the fast compiler"));
  EXPECT_TRUE(contains(message, "/nowhere/liba.so.1"));
  EXPECT_TRUE(contains(message, "libtilert_absent_b.so"));
}

TEST(DynamicLibrary, APathThatDependsOnTheWorkingDirectoryIsRefused) {
  auto library = DynamicLibrary::open("a library", {"./libm.so.6", "lib/libm.so.6"});
  ASSERT_FALSE(library);
  EXPECT_TRUE(contains(library.error().message, "./libm.so.6: refused"));
  EXPECT_TRUE(contains(library.error().message, "lib/libm.so.6: refused"));
}

TEST(DynamicLibrary, NoCandidateIsAnError) {
  EXPECT_FALSE(DynamicLibrary::open("a library", {}));
  EXPECT_FALSE(DynamicLibrary::open("a library", {""}));
}

TEST(DynamicLibrary, AMissingFunctionIsUnavailableAndNamesTheFile) {
  auto library = DynamicLibrary::open("the mathematics library", {"libm.so.6"});
  ASSERT_TRUE(library);
  EXPECT_EQ(library->find("no_such_function"), nullptr);
  auto function = library->function<void()>("no_such_function");
  ASSERT_FALSE(function);
  EXPECT_EQ(function.error().code, Code::kUnavailable);
  EXPECT_TRUE(contains(function.error().message, "no_such_function"));
  EXPECT_TRUE(contains(function.error().message, library->path()));
}

TEST(DynamicLibrary, AnUnopenedOneHasNoFunctions) {
  DynamicLibrary library;
  EXPECT_FALSE(library.is_open());
  EXPECT_EQ(library.find("cos"), nullptr);
  EXPECT_FALSE(library.function<void()>("cos"));
}

TEST(DynamicLibrary, MovingHandsOverTheLibrary) {
  auto opened = DynamicLibrary::open("the mathematics library", {"libm.so.6"}, Unload::on_destruction);
  ASSERT_TRUE(opened);
  DynamicLibrary first = std::move(*opened);
  DynamicLibrary second;
  second = std::move(first);
  EXPECT_FALSE(first.is_open());
  EXPECT_TRUE(second.is_open());
  EXPECT_NE(second.find("cos"), nullptr);
}

TEST(OwnDirectory, IsTheAbsoluteDirectoryOfThisProgram) {
  auto directory = own_directory();
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->front(), '/');
  EXPECT_TRUE(contains(*directory, TILERT_BINARY_DIR));
}

}  // namespace
}  // namespace tilert
