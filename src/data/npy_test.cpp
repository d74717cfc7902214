#include "data/npy.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "data/loader.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

const OpenOptions kPlainArrays{.normalization = Normalization::identity()};

std::string header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string with_labels(const TemporaryFolder& folder, const std::string& images) {
  folder.write("x.npy", images);
  folder.write("y.npy", npy_file(header("<i8", "(2,)"), bytes_of<std::int64_t>({3, 1})));
  return "npy:" + folder.path("x.npy") + "," + folder.path("y.npy");
}

template <class T>
void expect_numbers(const std::string& type, float scale) {
  TemporaryFolder folder;
  auto set = open(with_labels(folder, npy_file(header(type, "(2, 1, 2, 2)"),
                                               bytes_of<T>({0, 1, 2, 3, 4, 5, 6, 255}))),
                  kPlainArrays);
  EXPECT_EQ(set->fields()[0].spec.shape, (Shape{1, 2, 2})) << type;
  EXPECT_EQ(set->classes(), 4);
  Values second = read_sample(*set, 1);
  EXPECT_EQ(second.target[0], 1);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(second.input[i], (4 + i) * scale) << type;
  EXPECT_FLOAT_EQ(second.input[3], 255 * scale) << type;
}

TEST(Npy, IsReadInWindows) {
  TemporaryFolder folder;
  std::vector<float> inputs(200);
  std::vector<std::int64_t> labels(200);
  for (std::size_t i = 0; i < 200; ++i) labels[i] = static_cast<std::int64_t>(inputs[i] = 1.F * i);
  folder.write("x.npy", npy_file(header("<f4", "(200, 1)"), bytes_of(inputs)));
  folder.write("y.npy", npy_file(header("<i8", "(200,)"), bytes_of(labels)));
  std::string uri = "npy:" + folder.path("x.npy") + "," + folder.path("y.npy");
  auto set = open(uri + "?window=32[10:190]", kPlainArrays);
  EXPECT_EQ(set->window(), 32);
  EXPECT_EQ(open(uri, kPlainArrays)->window(), 0);
  set->will_read({0, 180});
  Loader loader(*set, {.batch = 20});
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int32_t> seen;
    for (int step = 0; step < 9; ++step)
      for (std::int32_t target : (*loader.next())["target"].as<std::int32_t>()) seen.insert(target);
    EXPECT_EQ(seen.size(), 180u);
    EXPECT_EQ(*seen.begin(), 10);
  }
  EXPECT_NE(error_of([&] { open(uri + "?window=0"); }).find("window must be"), std::string::npos);
}

TEST(Npy, ReadsEveryElementType) {
  expect_numbers<std::uint8_t>("|u1", 1 / 255.F);
  expect_numbers<std::int32_t>("<i4", 1);
  expect_numbers<std::int64_t>("<i8", 1);
  expect_numbers<float>("<f4", 1);
  expect_numbers<double>("<f8", 1);
}

TEST(Npy, ReadsFeatureVectorsAndGreyImages) {
  TemporaryFolder folder;
  std::string six = bytes_of<float>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(
      open(with_labels(folder, npy_file(header("<f4", "(2, 3)"), six)))->fields()[0].spec.shape,
      (Shape{3}));
  EXPECT_EQ(
      open(with_labels(folder, npy_file(header("<f4", "(2, 3, 1)"), six)))->fields()[0].spec.shape,
      (Shape{1, 3, 1}));
}

/// Two images of 2 x 5 pixels and 3 colours, which lie side by side.
std::string coloured_images(const TemporaryFolder& folder) {
  std::vector<float> numbers;
  for (int i = 0; i < 60; ++i) numbers.push_back(static_cast<float>(i));
  return with_labels(folder, npy_file(header("<f4", "(2, 5, 2, 3)"), bytes_of(numbers)));
}

TEST(Npy, ReadsChannelsThatComeLast) {
  TemporaryFolder folder;
  auto set = open(coloured_images(folder) + "?channels=last", kPlainArrays);
  EXPECT_EQ(set->fields()[0].spec.shape, (Shape{3, 5, 2}));
  std::vector<float> second = read_sample(*set, 1).input;
  for (int channel = 0; channel < 3; ++channel)
    for (int pixel = 0; pixel < 10; ++pixel)
      EXPECT_EQ(second[static_cast<std::size_t>(channel * 10 + pixel)], 30 + pixel * 3 + channel);
}

TEST(Npy, RefusesWhatLooksLikeChannelsLastUnlessToldWhere) {
  TemporaryFolder folder;
  std::string name = coloured_images(folder);
  EXPECT_NE(error_of([&] { open(name); }).find("add ?channels=last"), std::string::npos);
  EXPECT_EQ(open(name + "?channels=first")->fields()[0].spec.shape, (Shape{5, 2, 3}));
  EXPECT_NE(error_of([&] { open(name + "?channels=middle"); }).find("'first' or 'last'"),
            std::string::npos);
  std::string flat =
      with_labels(folder, npy_file(header("<f4", "(2, 3)"), bytes_of<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_NE(error_of([&] { open(flat + "?channels=last"); }).find("rank 4"), std::string::npos);
}

TEST(Npy, ReadsVersionTwo) {
  TemporaryFolder folder;
  std::string text = header("<f4", "(2, 1)") + "\n";
  std::string file = "\x93NUMPY";
  file += {2, 0, static_cast<char>(text.size()), 0, 0, 0};
  auto set = open(with_labels(folder, file + text + bytes_of<float>({8, 9})), kPlainArrays);
  EXPECT_EQ(read_sample(*set, 1).input[0], 9.0F);
}

TEST(Npy, SaysWhatIsWrong) {
  TemporaryFolder folder;
  auto message = [&](const std::string& text, std::size_t bytes) {
    return error_of([&] { open(with_labels(folder, npy_file(text, std::string(bytes, 0)))); });
  };
  std::string fortran = header("<f4", "(2, 3)");
  fortran.replace(fortran.find("False"), 5, "True");
  EXPECT_NE(message(fortran, 24).find("ascontiguousarray"), std::string::npos);
  EXPECT_NE(message(header(">f4", "(2, 3)"), 24).find("astype"), std::string::npos);
  EXPECT_NE(message(header("<f4", "(2, 3)"), 23).find("23 bytes follow"), std::string::npos);
  EXPECT_NE(message(header("<f4", "(3, 2)"), 24).find("2 labels but 3 images"), std::string::npos);
  EXPECT_NE(message(header("<f4", "(4294967296, 4294967296, 4)"), 24).find("24 bytes follow"),
            std::string::npos);
  EXPECT_NE(message(header("|u1", "(4294967296, 4294967296)"), 0).find("0 bytes follow"),
            std::string::npos)
      << "the product is 0 in 64 bits";
  EXPECT_NE(message(header("<f4", "(-2, 3)"), 24).find("not a number >= 0"), std::string::npos);
  EXPECT_NE(message(header("<f4", "(2,1,1,1,1,1,1,1,1)"), 8).find("eight"), std::string::npos);
  EXPECT_NE(message("{'descr': '<f4', 'shape': (2, 3)}", 24).find("missing"), std::string::npos);
  EXPECT_NE(message(header("<f4", "()"), 4).find("single number"), std::string::npos);
}

TEST(Npy, RefusesAHeaderLongerThanTheFile) {
  TemporaryFolder folder;
  std::string file = npy_file(header("<f4", "(2, 3)"), std::string(24, 0));
  file[9] = 100;
  EXPECT_NE(error_of([&] { open(with_labels(folder, file)); }).find("header claims"),
            std::string::npos);
}

TEST(Npy, RefusesNumbersThatAreNotFinite) {
  TemporaryFolder folder;
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::string uri =
      with_labels(folder, npy_file(header("<f4", "(2, 2)"), bytes_of<float>({0, 1, 2, nan})));
  EXPECT_NE(error_of([&] { open(uri); }).find("image 1"), std::string::npos)
      << "measuring the mean reads it";
  auto set = open(uri, kPlainArrays);
  EXPECT_EQ(read_sample(*set, 0).input[1], 1.0F);
  EXPECT_NE(error_of([&] { read_sample(*set, 1); }).find("not finite"), std::string::npos);
}

TEST(Npy, RefusesLabelsThatAreNoClasses) {
  TemporaryFolder folder;
  std::string uri = with_labels(folder, npy_file(header("<f4", "(2, 1)"), bytes_of<float>({8, 9})));
  folder.write("y.npy", npy_file(header("<i4", "(2,)"), bytes_of<std::int32_t>({3, -1})));
  EXPECT_NE(error_of([&] { open(uri); }).find("label -1 of sample 1"), std::string::npos);
  folder.write("y.npy", npy_file(header("<i4", "(2, 2)"), bytes_of<std::int32_t>({3, 1, 0, 2})));
  EXPECT_NE(error_of([&] { open(uri); }).find("need the shape [N]"), std::string::npos);
}

TEST(Npy, TakesFloatingLabelsAsNumbersToPredict) {
  TemporaryFolder folder;
  std::string uri = with_labels(folder, npy_file(header("<f4", "(2, 1)"), bytes_of<float>({8, 9})));
  folder.write("y.npy", npy_file(header("<f8", "(2, 2)"), bytes_of<double>({1, 2, 3, 4.5})));
  auto set = open(uri, kPlainArrays);
  EXPECT_EQ(set->fields()[1].spec, (TensorSpec{{2}, DType::f32}));
  EXPECT_EQ(set->classes(), 0);
  std::vector<float> input(1), target(2);
  std::vector<std::span<std::byte>> fields{std::as_writable_bytes(std::span(input)),
                                           std::as_writable_bytes(std::span(target))};
  set->read({.index = 1}, fields);
  EXPECT_EQ(target, (std::vector<float>{3, 4.5}));

  folder.write("y.npy", npy_file(header("<f4", "(2,)"), bytes_of<float>({1, 2})));
  EXPECT_EQ(open(uri)->fields()[1].spec, (TensorSpec{{1}, DType::f32}));
  float nan = std::numeric_limits<float>::quiet_NaN();
  folder.write("y.npy", npy_file(header("<f4", "(2,)"), bytes_of<float>({1, nan})));
  EXPECT_NE(error_of([&] { open(uri); }).find("target of sample 1 is not finite"),
            std::string::npos);
  folder.write("y.npy", npy_file(header("<f4", "(2, 1, 1)"), bytes_of<float>({1, 2})));
  EXPECT_NE(error_of([&] { open(uri); }).find("[N] or [N,K]"), std::string::npos);
}

TEST(Npy, NeedsNoLabelsWhereAModelIsAsked) {
  TemporaryFolder folder;
  std::string uri = with_labels(folder, npy_file(header("<f4", "(2, 1)"), bytes_of<float>({8, 9})));
  std::string alone = uri.substr(0, uri.find(','));
  OpenOptions like{.like = open(uri)->encoding()};
  EXPECT_NE(error_of([&] { open(alone, like); }).find("give two files"), std::string::npos);
  like.unlabelled = true;
  auto set = open(alone, like);
  EXPECT_FALSE(set->has_targets());
  EXPECT_EQ(set->encoding(), *like.like);
  EXPECT_EQ(read_sample(*set, 1).target[0], 0);
}

TEST(Npy, NormalisesFeaturesOneByOneButBytesAlike) {
  TemporaryFolder folder;
  auto set =
      open(with_labels(folder, npy_file(header("<f4", "(2, 2)"), bytes_of<float>({1, 10, 3, 30}))));
  EXPECT_EQ(*set->normalization(), (Normalization{{2, 20}, {1, 10}}));
  auto bytes = open(with_labels(
      folder, npy_file(header("|u1", "(2, 2)"), bytes_of<std::uint8_t>({0, 255, 0, 255}))));
  EXPECT_EQ(*bytes->normalization(), (Normalization{{0.5F}, {0.5F}}));
}

TEST(Npy, ReadsBackTheHeaderThatItWrites) {
  TemporaryFolder folder;
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 2, 3}}) {
    std::string start = npy_header(Element::f32, shape);
    EXPECT_EQ(start.size() % 64, 0u);
    ArrayFile array = read_npy(folder.write("a.npy", start + std::string(24, 0)));
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.element, Element::f32);
  }
}

}  // namespace
}  // namespace troika::data
