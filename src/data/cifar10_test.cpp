#include "data/cifar10.h"

#include <gtest/gtest.h>

#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

const OpenOptions kPlainImages{.normalization = Normalization::identity()};

std::string record(char label, char red) {
  return std::string(1, label) + std::string(1024, red) + std::string(2048, 0);
}

TEST(Cifar10, JoinsTheFiveBatchesOfAFolder) {
  TemporaryFolder folder;
  for (char batch = 1; batch <= 5; ++batch)
    folder.write("data_batch_" + std::to_string(batch) + ".bin",
                 record(batch, 51) + record(0, static_cast<char>(batch)));
  folder.write("test_batch.bin", record(9, '\xFF'));
  auto train = open("cifar10:" + folder.path(), kPlainImages);
  EXPECT_EQ(train->size(), 10);
  EXPECT_EQ(train->fields()[0].spec.shape, (Shape{3, 32, 32}));
  EXPECT_EQ(read_sample(*train, 4).target[0], 3);
  EXPECT_FLOAT_EQ(read_sample(*train, 9).input[0], 5 / 255.F);
  EXPECT_EQ(read_sample(*train, 4).input[1024], 0.0F);
  EXPECT_EQ(read_all(*open("cifar10:" + folder.path("train"), kPlainImages)), read_all(*train));
  auto test = open("cifar10:" + folder.path("test"), kPlainImages);
  EXPECT_EQ(test->size(), 1);
  EXPECT_EQ(read_sample(*test, 0).target[0], 9);
  EXPECT_EQ(read_sample(*test, 0).input[1023], 1.0F);
}

TEST(Cifar10, NamesTheBatchThatIsMissing) {
  TemporaryFolder folder;
  folder.write("data_batch_1.bin", record(1, 1));
  std::string message = error_of([&] { open("cifar10:" + folder.path()); });
  EXPECT_NE(message.find("data_batch_2.bin"), std::string::npos) << message;
}

TEST(Cifar10, RefusesALabelAboveNine) {
  TemporaryFolder folder;
  std::string file = folder.write("batch.bin", record(1, 1) + record(10, 1));
  std::string message = error_of([&] { open("cifar10:" + file); });
  EXPECT_NE(message.find("at byte 3073"), std::string::npos) << message;
}

}  // namespace
}  // namespace troika::data
