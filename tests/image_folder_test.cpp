// Folders of image files, as a user trains on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "data/png/png.h"
#include "program_run.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using Json = nlohmann::json;

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// One part of a PNG file: length, name, content and checksum.
std::string chunk(const std::string& name, const std::string& content) {
  std::string named = name + content;
  return big_endian(content.size()) + named +
         big_endian(crc32(0, bytes_of(named), static_cast<unsigned>(named.size())));
}

/// A greyscale file of this side; `shade(x, y)` is the value of a pixel.
template <class Shade>
std::string png_image(int side, Shade&& shade) {
  std::string rows;
  for (int y = 0; y < side; ++y) {
    rows += '\0';  // no filter
    for (int x = 0; x < side; ++x) rows += static_cast<char>(shade(x, y));
  }
  uLongf length = compressBound(rows.size());
  std::string packed(length, '\0');
  compress(reinterpret_cast<unsigned char*>(packed.data()), &length, bytes_of(rows), rows.size());
  packed.resize(length);
  std::string size = big_endian(static_cast<std::size_t>(side));
  return "\x89PNG\r\n\x1A\n" + chunk("IHDR", size + size + std::string("\x08\0\0\0\0", 5)) +
         chunk("IDAT", packed) + chunk("IEND", "");
}

constexpr const char* kRun = R"([model]
name = "mlp"
hidden = 16
layers = 1
[data]
train = "images:pictures/train?size=12&channels=1"
test = "images:pictures/test"
augment = ["random_crop", "flip"]
[train]
global_batch = 10
epochs = 12
[optimizer]
name = "adam"
learning_rate = 0.01
[parallel]
threads = 1
[kernels]
measure = false
)";

/// Stripes across and along, of several widths and sizes.
class ImageFolders : public ProgramTest {
 protected:
  void SetUp() override {
    if (!data::built_with_png()) GTEST_SKIP() << "libpng was not found";
    for (int i = 0; i < 40; ++i) add_pair("pictures/train", i);
    for (int i = 40; i < 50; ++i) add_pair("pictures/test", i);
    folder_.write("run.toml", kRun);
  }

  void add_pair(const std::string& folder, int i) {
    int side = 24 + i % 5 * 8, width = side / 4, start = i % 7;
    auto stripe = [&](int at) { return (at + start) / width % 2 == 0 ? 30 : 220; };
    std::string name = std::to_string(i) + ".png";
    folder_.write(folder + "/across/" + name,
                  png_image(side, [&](int, int y) { return stripe(y); }));
    folder_.write(folder + "/along/" + name,
                  png_image(side, [&](int x, int) { return stripe(x); }));
  }
};

TEST_F(ImageFolders, TrainAModelThatNamesTheirClasses) {
  Result trained = run({"train", "run.toml", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_GE(Json::parse(trained.out)["test_accuracy"], 0.9);
  fs::remove_all(path("pictures/train"));
  Result predicted = run({"predict", "runs/run", "--data", "images:pictures/test", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  Json first = Json::parse(predicted.out.substr(0, predicted.out.find('\n')));
  EXPECT_EQ(first["target"], "across");
  fs::rename(path("pictures/test/along"), path("pictures/test/round"));
  Result unknown = run({"eval", "runs/run", "--data", "images:pictures/test"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("the class folder 'round' is not known; the model knows "
                                     "across, along"));
}

TEST_F(ImageFolders, AreShownWithTheSizesOfTheirClasses) {
  folder_.write("pictures/test/along/more.png", png_image(9, [](int, int) { return 1; }));
  Result shown = run({"inspect", "images:pictures/test?size=16x20"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("[3,16,20]"));
  EXPECT_THAT(shown.out, MatchesRegex("(.|\n)*across +10\n +along +11\n(.|\n)*"));
}

TEST_F(ImageFolders, ThatAreDamagedEndTheRunWithTheNameOfTheFile) {
  std::string whole = png_image(64, [](int x, int y) { return x * y; });
  folder_.write("pictures/train/along/0.png", whole.substr(0, whole.size() / 2));
  Result damaged = run({"train", "run.toml"});
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("pictures/train/along/0.png': the PNG file is damaged"));
  Result no_size = run({"inspect", "images:pictures/test"});
  EXPECT_EQ(no_size.code, 3);
  EXPECT_THAT(no_size.err, HasSubstr("add ?size=HEIGHTxWIDTH"));
}

/// The entries of a run's metrics that have this key, in order.
std::vector<double> metric(const std::string& metrics, const char* key) {
  std::vector<double> values;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    if (Json entry = Json::parse(line); entry.contains(key)) values.push_back(entry[key]);
  return values;
}

TEST_F(ImageFolders, GiveTheSameLossesOnTwoDevicesAndAfterAResumeWithinAnEpoch) {
  auto losses = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"train",          "run.toml",       "log.every=1 steps",
                                   "train.steps=20", "train.shards=2", "parallel.order=fixed"};
    words.insert(words.end(), more.begin(), more.end());
    Result trained = run(words);
    EXPECT_EQ(trained.code, 0) << trained.err;
    return metric(read_text(path("runs/" + more.back() + "/metrics.jsonl")), "loss");
  };
  std::vector<double> alone = losses({"--name", "alone"});
  EXPECT_EQ(alone.size(), 20u);
  EXPECT_EQ(losses({"parallel.devices=2", "parallel.plan=data", "--name", "two"}), alone);
  losses({"train.steps=11", "--name", "stopped"});  // an epoch has 8 steps
  Result resumed = run({"train", "--resume", "runs/stopped", "train.steps=20"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(metric(read_text(path("runs/stopped/metrics.jsonl")), "loss"), alone);
}

TEST_F(ImageFolders, ShowTheWaitWhereDecodingIsSlowerThanTheSteps) {
  std::string large = png_image(1000, [](int x, int y) { return x * y / 7; });
  for (int i = 0; i < 40; ++i)
    folder_.write("pictures/train/along/" + std::to_string(i) + ".png", large);
  Result trained = run({"train", "run.toml", "train.steps=8", "log.every=4 steps"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (double share : metric(read_text(path("runs/run/metrics.jsonl")), "data_wait"))
    EXPECT_GT(share, 0.5);
  EXPECT_THAT(trained.out, HasSubstr("data wait "));
}

}  // namespace
}  // namespace troika
