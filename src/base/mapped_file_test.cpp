#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& content) const {
    std::ofstream(folder_ / "file", std::ios::binary) << content;
    return folder_ / "file";
  }
  static std::string text(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }
  /// Expects Error(file) with the path and this text.
  static void expect_refused(const fs::path& path, const char* why) {
    EXPECT_THAT([&] { MappedFile file(path); },
                Throws<Error>(AllOf(
                    Property(&Error::kind, ErrorKind::file),
                    Property(&Error::what, AllOf(HasSubstr(why), HasSubstr(path.string()))))));
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("troika-mapped-" + std::to_string(::getpid()));
};

TEST_F(MappedFileTest, HoldsTheBytesOfTheFile) {
  EXPECT_EQ(text(MappedFile(write(std::string("a\0b", 3)))), std::string("a\0b", 3));
  EXPECT_TRUE(MappedFile(write("")).bytes().empty());
}

TEST_F(MappedFileTest, KeepsItsBytesWhenItMovesAndWhenTheNameIsTakenByAnother) {
  MappedFile first(write("first"));
  fs::remove(folder_ / "file");
  MappedFile other(write("other"));
  MappedFile moved(std::move(first));
  EXPECT_TRUE(first.bytes().empty());
  EXPECT_EQ(text(moved), "first");
  moved = std::move(other);
  EXPECT_EQ(text(moved), "other");
}

TEST_F(MappedFileTest, SaysWhyAPathCannotBeRead) {
  expect_refused(folder_ / "absent", "No such file");
  expect_refused(folder_, "not a regular file");
  // Opening a pipe without a writer must not block.
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_refused(folder_ / "pipe", "not a regular file");
}

TEST_F(MappedFileTest, ASmallFileHasALimit) {
  EXPECT_EQ(read_small_file(write("12345"), 5), "12345");
  EXPECT_THROW(read_small_file(write("123456"), 5), Error);
}

}  // namespace
}  // namespace troika
