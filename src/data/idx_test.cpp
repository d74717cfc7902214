#include "data/idx.h"

#include <gtest/gtest.h>

#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

const OpenOptions kPlainDigits{.normalization = Normalization::identity()};

void write_set(const TemporaryFolder& folder, const std::string& name, char first) {
  folder.write(name + "-images-idx3-ubyte",
               idx_file({2, 2, 3}, std::string{first, 51, 102, 0, 0, 0, 1, 2, 3, 4, 5, '\xFF'}));
  folder.write(name + "-labels-idx1-ubyte", idx_file({2}, {7, 2}));
}

TEST(Idx, ReadsPixelsScaledToOneAndLabels) {
  TemporaryFolder folder;
  write_set(folder, "train", 0);
  auto set = open("idx:" + folder.path(), kPlainDigits);
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(set->classes(), 8);
  EXPECT_EQ(set->fields()[0], (Field{"input", {{1, 2, 3}, DType::f32}}));
  EXPECT_EQ(set->fields()[1], (Field{"target", {{}, DType::i32}}));
  EXPECT_EQ(read_sample(*set, 0), (Values{{0, 51 / 255.F, 102 / 255.F, 0, 0, 0}, {7}}));
  EXPECT_EQ(read_sample(*set, 1).input.back(), 1.0F);
  EXPECT_EQ(read_sample(*set, 1).target[0], 2);
}

TEST(Idx, PrefersTrainInAFolderAndTakesAPrefix) {
  TemporaryFolder folder;
  write_set(folder, "t10k", '\xFF');
  EXPECT_EQ(read_sample(*open("idx:" + folder.path(), kPlainDigits), 0).input[0], 1.0F);
  write_set(folder, "train", 0);
  EXPECT_EQ(read_sample(*open("idx:" + folder.path(), kPlainDigits), 0).input[0], 0.0F);
  EXPECT_EQ(read_sample(*open("idx:" + folder.path("t10k"), kPlainDigits), 0).input[0], 1.0F);
}

TEST(Idx, ReadsGzipAsThePlainFile) {
  TemporaryFolder folder;
  std::string images = idx_file({3, 4, 4}, scattered_bytes(48));
  std::string labels = idx_file({3}, {1, 0, 2});
  folder.write("a-images-idx3-ubyte", images), folder.write("a-labels-idx1-ubyte", labels);
  folder.write("b-images-idx3-ubyte.gz", gzip_file(images)),
      folder.write("b-labels-idx1-ubyte.gz", gzip_file(labels));
  EXPECT_EQ(read_all(*open("idx:" + folder.path("a"))), read_all(*open("idx:" + folder.path("b"))));
}

TEST(Idx, TakesARange) {
  TemporaryFolder folder;
  write_set(folder, "train", 0);
  auto set = open("idx:" + folder.path() + "[1:]", kPlainDigits);
  EXPECT_EQ(set->size(), 1);
  EXPECT_EQ(set->classes(), 8) << "the classes are those of the whole file";
  EXPECT_EQ(read_sample(*set, 0).target[0], 2);
  EXPECT_EQ(read_sample(*set, 0).input[5], 1.0F);
}

TEST(Idx, RefusesFilesThatDoNotBelongTogether) {
  TemporaryFolder folder;
  write_set(folder, "train", 0);
  folder.write("train-labels-idx1-ubyte", idx_file({3}, {7, 2, 1}));
  std::string message = error_of([&] { open("idx:" + folder.path()); });
  EXPECT_NE(message.find("3 labels but 2 images"), std::string::npos) << message;
}

TEST(Idx, RefusesHeadersCutShortAndBytesLeftOver) {
  TemporaryFolder folder;
  write_set(folder, "train", 0);
  folder.write("train-images-idx3-ubyte", idx_file({2, 2, 3}, "").substr(0, 15));
  EXPECT_NE(error_of([&] { open("idx:" + folder.path()); }).find("3 dimensions in a file of 15"),
            std::string::npos);
  folder.write("train-images-idx3-ubyte", idx_file({2, 2, 3}, std::string(13, 'x')));
  EXPECT_NE(error_of([&] { open("idx:" + folder.path()); }).find("13 bytes follow"),
            std::string::npos);
}

TEST(Idx, RefusesHeadersThatOverflow) {
  TemporaryFolder folder;
  write_set(folder, "train", 0);
  folder.write("train-images-idx3-ubyte",
               idx_file({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"));
  EXPECT_NE(error_of([&] { open("idx:" + folder.path()); }).find("fetch or write it again"),
            std::string::npos);
  folder.write("train-images-idx3-ubyte", idx_file({2, 0, 3}, ""));
  EXPECT_NE(error_of([&] { open("idx:" + folder.path()); }), "");
}

TEST(Idx, ReadsTheTenThousandImagesOfMnist) {
  std::string folder = outside_folder("mnist-10k");
  if (folder.empty())
    GTEST_SKIP() << "MNIST is not here; set TROIKA_DATA to the folder that holds mnist-10k.";
  auto train = open("idx:" + folder + "[0:8000]");
  auto test = open("idx:" + folder + "[8000:]", {.normalization = *train->normalization()});
  EXPECT_EQ(train->size(), 8000);
  EXPECT_EQ(test->size(), 2000);
  EXPECT_EQ(train->classes(), 10);
  EXPECT_EQ(train->fields()[0].spec.shape, (Shape{1, 28, 28}));
  EXPECT_NEAR(train->normalization()->mean[0], 0.1307, 0.01);
  EXPECT_NEAR(train->normalization()->deviation[0], 0.3081, 0.01);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 5; ++i) labels.push_back(read_sample(*train, i).target[0]);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{7, 2, 1, 0, 4}));
}

}  // namespace
}  // namespace troika::data
