// Every file cut at every length, and with every byte changed: refused with a sentence, or read as
// what it now is.
#include <gtest/gtest.h>

#include <functional>

#include "data/testing/allocations.h"
#include "data/testing/file_fixture.h"
#include "data/testing/image_fixture.h"

namespace troika::data {
namespace {

constexpr std::size_t kMostAtOnce = 8 << 20;  // Far above what these small files need.

/// One file of a data set, and how the set is opened.
struct Victim {
  std::string uri;
  std::string file;     // Relative to the folder.
  std::string content;  // As it should be.
  bool packed = false;  // Damage may not change what is read.
};

class Laboratory {
 public:
  Laboratory(const TemporaryFolder& folder, Victim victim)
      : folder_(folder), victim_(std::move(victim)) {
    folder_.write(victim_.file, victim_.content);
    intact_ = read_all(*open(victim_.uri, kOptions));
  }

  void cut_at_every_length() {
    for (std::size_t length = 0; length < victim_.content.size(); ++length)
      examine(victim_.content.substr(0, length), "cut to " + std::to_string(length));
  }

  void change_every_byte(std::initializer_list<int> changes = {0x01, 0x80, 0xFF}) {
    for (std::size_t at = 0; at < victim_.content.size(); ++at)
      for (int change : changes) {
        std::string content = victim_.content;
        content[at] = static_cast<char>(content[at] ^ change);
        examine(content, "byte " + std::to_string(at) + " changed by " + std::to_string(change));
      }
  }

  int refused() const { return refused_; }
  int read() const { return read_; }

 private:
  static inline const OpenOptions kOptions{.sequence_length = 3};

  void examine(const std::string& content, const std::string& what) {
    folder_.write(victim_.file, content);
    reset_allocations();
    try {
      auto set = open(victim_.uri, kOptions);
      check_values(*set, what);
      ++read_;
    } catch (const Error& error) {
      ++refused_;
      EXPECT_EQ(error.kind(), ErrorKind::file) << what;
      EXPECT_NE(std::string(error.what()).find(folder_.path()), std::string::npos) << error.what();
    }
    EXPECT_LE(allocations().largest, kMostAtOnce) << what;
  }

  void check_values(const Dataset& set, const std::string& what) const {
    auto values = read_all(set);
    if (victim_.packed) {
      EXPECT_EQ(values, intact_) << what;
    }
    if (set.encoding().predicts_numbers()) return;
    for (const Values& sample : values)
      for (std::int32_t target : sample.target)
        ASSERT_TRUE(target >= 0 && target < set.classes()) << what;
  }

  const TemporaryFolder& folder_;
  Victim victim_;
  std::vector<Values> intact_;
  int refused_ = 0;
  int read_ = 0;
};

const std::string kImages = idx_file({3, 4, 5}, scattered_bytes(60));
const std::string kLabels = idx_file({3}, {2, 0, 1});

void write_idx(const TemporaryFolder& folder, const std::string& ending,
               std::function<std::string(std::string)> pack) {
  folder.write("s-images-idx3-ubyte" + ending, pack(kImages));
  folder.write("s-labels-idx1-ubyte" + ending, pack(kLabels));
}

TEST(DamagedFiles, IdxImagesAndLabels) {
  TemporaryFolder folder;
  write_idx(folder, "", [](std::string content) { return content; });
  for (auto [name, content] :
       {std::pair{"s-images-idx3-ubyte", kImages}, std::pair{"s-labels-idx1-ubyte", kLabels}}) {
    Laboratory laboratory(folder, {"idx:" + folder.path("s"), name, content});
    laboratory.cut_at_every_length();
    EXPECT_EQ(laboratory.read(), 0) << "an IDX file that is cut is never whole";
    laboratory.change_every_byte();
    EXPECT_GT(laboratory.read(), 0) << "a changed pixel or label is still one";
    folder.write(name, content);
  }
}

TEST(DamagedFiles, IdxInGzip) {
  TemporaryFolder folder;
  write_idx(folder, ".gz", gzip_file);
  for (auto [name, content] : {std::pair{"s-images-idx3-ubyte.gz", kImages},
                               std::pair{"s-labels-idx1-ubyte.gz", kLabels}}) {
    Laboratory laboratory(folder, {"idx:" + folder.path("s"), name, gzip_file(content), true});
    laboratory.cut_at_every_length();
    EXPECT_EQ(laboratory.read(), 0);
    laboratory.change_every_byte();
    EXPECT_GT(laboratory.read(), 0) << "the time stamp in the header does not matter";
    folder.write(name, gzip_file(content));
  }
}

TEST(DamagedFiles, Cifar10) {
  TemporaryFolder folder;
  std::string content;
  for (char label : {3, 9}) content += label + scattered_bytes(3072);
  Laboratory laboratory(folder, {"cifar10:" + folder.path("b.bin"), "b.bin", content});
  laboratory.cut_at_every_length();
  EXPECT_EQ(laboratory.read(), 1) << "only the length of exactly one record is a file";
  laboratory.change_every_byte({0xFF});
  EXPECT_GT(laboratory.read(), 6000);
}

TEST(DamagedFiles, NpyImagesAndLabels) {
  TemporaryFolder folder;
  auto header = [](const char* type, const char* shape) {
    return std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': " + shape +
           ", }";
  };
  std::string images = npy_file(header("<f8", "(3, 2, 2)"),
                                bytes_of<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  std::string labels = npy_file(header("<i8", "(3,)"), bytes_of<std::int64_t>({2, 0, 1}));
  folder.write("x.npy", images), folder.write("y.npy", labels);
  std::string uri = "npy:" + folder.path("x.npy") + "," + folder.path("y.npy");
  for (auto [name, content] : {std::pair{"x.npy", images}, std::pair{"y.npy", labels}}) {
    Laboratory laboratory(folder, {uri, name, content});
    laboratory.cut_at_every_length();
    EXPECT_EQ(laboratory.read(), 0);
    laboratory.change_every_byte();
    EXPECT_GT(laboratory.read(), 0);
    EXPECT_GT(laboratory.refused(), 50);
    folder.write(name, content);
  }
}

TEST(DamagedFiles, Jpeg) {
  if (!built_with_jpeg()) GTEST_SKIP() << "libturbojpeg was not found";
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("class"));
  Laboratory laboratory(folder, {"images:" + folder.path() + "?size=8", "class/a.jpg",
                                 jpeg_file(ramp_picture({24, 16}))});
  laboratory.cut_at_every_length();
  EXPECT_EQ(laboratory.read(), 0);
  laboratory.change_every_byte();
  EXPECT_GT(laboratory.refused(), 100);
  EXPECT_GT(laboratory.read(), 100) << "a changed number in a table gives other pixels";
}

TEST(DamagedFiles, Png) {
  if (!built_with_png()) GTEST_SKIP() << "libpng was not found";
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("class"));
  Laboratory laboratory(folder, {"images:" + folder.path() + "?size=8", "class/a.png",
                                 png_file(ramp_picture({24, 16})), true});
  laboratory.cut_at_every_length();
  EXPECT_LT(laboratory.read(), 20) << "only what follows the pixels may be missing";
  laboratory.change_every_byte();
  EXPECT_GT(laboratory.refused(), 100);
}

TEST(DamagedFiles, Tokens) {
  TemporaryFolder folder;
  std::string content = bytes_of<std::uint16_t>({1, 2, 3, 4, 5, 6, 7, 8, 9});
  Laboratory laboratory(folder, {"tokens:" + folder.path("t.bin"), "t.bin", content});
  laboratory.cut_at_every_length();
  EXPECT_EQ(laboratory.read(), 5)
      << "four to eight whole tokens are enough for a sequence of three";
  laboratory.change_every_byte();
  Laboratory checked(folder,
                     {"tokens:" + folder.path("t.bin") + "?vocabulary=10", "t.bin", content});
  checked.change_every_byte();
  EXPECT_GT(checked.refused(), 18);
}

TEST(DamagedFiles, Text) {
  TemporaryFolder folder;
  Laboratory laboratory(folder, {"text:" + folder.path("t.txt"), "t.txt",
                                 "A horse: \xF0\x9F\x90\x8E, caf\xC3\xA9, 5 \xE2\x82\xAC.\n"});
  laboratory.cut_at_every_length();
  EXPECT_GT(laboratory.refused(), 6);
  EXPECT_GT(laboratory.read(), 10);
  laboratory.change_every_byte();
}

TEST(DamagedFiles, Tables) {
  TemporaryFolder folder;
  for (const char* content :
       {"a,b,y\n1,2,0\n3,4.5,2\n5,-6e1,1\n", "\"a, 1\",y\r\n1,red\r\n\"2\",\"da\"\"rk\"\r\n"}) {
    Laboratory laboratory(folder, {"csv:" + folder.path("t.csv"), "t.csv", content});
    laboratory.cut_at_every_length();
    laboratory.change_every_byte();
    EXPECT_GT(laboratory.refused(), 20);
    EXPECT_GT(laboratory.read(), 10);
  }
}

TEST(DamagedFiles, ThingsThatAreNoFiles) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("folder.bin"));
  for (const std::string& path :
       {folder.path("absent"), folder.path("folder.bin"), std::string("/dev/zero")})
    EXPECT_NE(error_of([&] { open("tokens:" + path); }).find(path), std::string::npos) << path;
}

}  // namespace
}  // namespace troika::data
