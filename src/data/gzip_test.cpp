#include "data/gzip.h"

#include <gtest/gtest.h>

#include <memory>

#include "data/testing/allocations.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

std::string inflate_text(const std::string& packed, std::size_t limit = kInflateLimit) {
  auto bytes = inflate_gzip(std::as_bytes(std::span(packed)), "file.gz", limit);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(InflateGzip, UndoesGzip) {
  for (std::size_t size : {0, 1, 1000, 65535, 65536, 65537, 300000}) {
    std::string content = scattered_bytes(size);
    EXPECT_EQ(inflate_text(gzip_file(content)), content) << size;
  }
}

TEST(InflateGzip, JoinsMembersAndIgnoresPadding) {
  EXPECT_EQ(inflate_text(gzip_file("one ") + gzip_file("two")), "one two");
  EXPECT_EQ(inflate_text(gzip_file("one") + std::string(512, '\0')), "one");
  EXPECT_THROW(inflate_text(gzip_file("one") + "rubbish"), Error);
  EXPECT_THROW(inflate_text(gzip_file("one") + gzip_file("two").substr(0, 12)), Error);
}

TEST(Allocations, AreCountedAndTheLargestRemembered) {
  reset_allocations();
  auto block = std::make_unique<char[]>(12345);
  EXPECT_GE(allocations().count, 1);
  EXPECT_EQ(allocations().largest, 12345U);
  EXPECT_NE(block, nullptr);
}

TEST(InflateGzip, StopsABombAtTheLimit) {
  std::string bomb = gzip_file(std::string(50 << 20, 'x'));
  reset_allocations();
  std::string message = error_of([&] { inflate_text(bomb, 1 << 20); });
  EXPECT_NE(message.find("gunzip"), std::string::npos) << message;
  EXPECT_LE(allocations().largest, std::size_t{1} << 20);
  EXPECT_EQ(inflate_text(gzip_file(std::string(1000, 'x')), 1001), std::string(1000, 'x'));
}

TEST(InflateGzip, NamesTheFileAndTheOffset) {
  std::string packed = gzip_file(scattered_bytes(1000));
  std::string message = error_of([&] { inflate_text(packed.substr(0, 500)); });
  EXPECT_NE(message.find("file.gz at byte 500"), std::string::npos) << message;
}

}  // namespace
}  // namespace troika::data
