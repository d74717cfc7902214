#include "data/uri.h"

#include <gtest/gtest.h>

#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

TEST(ParseUri, SplitsSchemePathQueryAndRange) {
  Uri uri = parse_uri("digits:train?size=500&seed=3[10:20]");
  EXPECT_EQ(uri.scheme, "digits");
  EXPECT_EQ(uri.path, "train");
  EXPECT_EQ(uri.query.at("size"), "500");
  EXPECT_EQ(uri.query.at("seed"), "3");
  EXPECT_EQ(uri.begin, 10);
  EXPECT_EQ(uri.end, 20);
}

TEST(ParseUri, KeepsColonsAndInnerBracketsOfAPath) {
  EXPECT_EQ(parse_uri("text:C:/a[1]/b.txt").path, "C:/a[1]/b.txt");
  EXPECT_EQ(parse_uri("npy:a.npy,b.npy[1:2]").path, "a.npy,b.npy");
}

TEST(ParseUri, TakesASchemeAlone) {
  EXPECT_EQ(parse_uri("digits").scheme, "digits");
  EXPECT_EQ(parse_uri("digits[:5]").end, 5);
  EXPECT_EQ(parse_uri("digits?size=5").query.at("size"), "5");
}

TEST(ParseUri, LeavesOutEitherBound) {
  EXPECT_EQ(parse_uri("idx:mnist[8000:]").begin, 8000);
  EXPECT_EQ(parse_uri("idx:mnist[8000:]").end, std::nullopt);
  EXPECT_EQ(parse_uri("idx:mnist[:8]").begin, 0);
  EXPECT_EQ(parse_uri("idx:mnist[:]").end, std::nullopt);
}

class BadUri : public testing::TestWithParam<const char*> {};

TEST_P(BadUri, IsRefusedWithAUsageError) {
  try {
    parse_uri(GetParam());
    FAIL() << GetParam();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

INSTANTIATE_TEST_SUITE_P(ParseUri, BadUri,
                         testing::Values("", ":path", "idx:m[5]", "idx:m[a:b]", "idx:m[-3:]",
                                         "idx:m[3:3]", "idx:m[5:2]", "idx:m]", "idx:m[1:2:3]",
                                         "idx:m[99999999999999999999:]", "idx:m[ 1:2]",
                                         "digits:train?size", "digits:train?=3", "digits:train?",
                                         "digits:train?a=1&a=2"));

TEST(SelectRange, RefusesWhatIsNotThere) {
  EXPECT_EQ(select(parse_uri("idx:m[2:]"), 10), (Range{2, 10}));
  EXPECT_EQ(select(parse_uri("idx:m"), 10), (Range{0, 10}));
  EXPECT_EQ(select(parse_uri("idx:m[:10]"), 10), (Range{0, 10}));
  EXPECT_THROW(select(parse_uri("idx:m[:11]"), 10), Error);
  EXPECT_THROW(select(parse_uri("idx:m[10:]"), 10), Error);
}

TEST(OpenDataset, NamesTheUriInEveryError) {
  for (const char* uri :
       {"idx:/nowhere/at/all", "mnist:x", "digits:validation", "digits:train?colour=1",
        "digits?size=0", "digits?size=x", "digits?size=-1", "digits?size=99999999999", "text:",
        "npy:one.npy", "digits[0:20000]", "text:/nowhere?size=3", "tokens:/nowhere?vocabulary=0"})
    EXPECT_NE(error_of([&] { open(uri); }).find(uri), std::string::npos) << uri;
}

}  // namespace
}  // namespace troika::data
