#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>

#include "checkpoint/testing/sample_checkpoint.h"

namespace troika {
namespace {

std::span<const std::byte> as_span(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Returns the error message for a file with this header; empty if it is accepted.
std::string refusal(const std::string& file) {
  try {
    parse_header(as_span(file), "x.safetensors");
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file);
    EXPECT_TRUE(std::string(error.what()).starts_with("x.safetensors: ")) << error.what();
    return error.what();
  }
}

std::string refusal(std::string_view header, std::size_t value_bytes) {
  return refusal(safetensors_text(header, value_bytes));
}

template <class T>
std::vector<T> values(const SafetensorsFile& file, const TensorEntry& entry) {
  const std::span<const std::byte> bytes = file.bytes(entry);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const std::vector<TensorEntry> kEntries{{"a", {{3}, DType::f32}},
                                        {"b \"q\" ü", {{2, 1}, DType::f64}},
                                        {"c", {{}, DType::i32}},
                                        {"d", {{0, 5}, DType::f32}}};

void write_sample_values(std::size_t index, std::span<std::byte> bytes) {
  const std::array<float, 3> a{1.5f, -2, 3};
  const std::array<double, 2> b{0.1, -1e300};
  const std::int32_t c = -7;
  const std::array<const void*, 4> sources{a.data(), b.data(), &c, nullptr};
  if (!bytes.empty()) std::memcpy(bytes.data(), sources[index], bytes.size());
}

TEST(Safetensors, RoundTripKeepsValuesShapesAndMetadata) {
  TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  save_safetensors(path, kEntries, write_sample_values, {{"note", "line\nbreak"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(values<float>(file, kEntries[0]), (std::vector<float>{1.5f, -2, 3}));
  EXPECT_EQ(values<double>(file, kEntries[1]), (std::vector<double>{0.1, -1e300}));
  EXPECT_EQ(values<std::int32_t>(file, kEntries[2]), (std::vector<std::int32_t>{-7}));
  EXPECT_TRUE(values<float>(file, kEntries[3]).empty());
  EXPECT_EQ(file.metadata(), (Metadata{{"note", "line\nbreak"}}));
  EXPECT_EQ(file.tensors().size(), 4u);
}

TEST(Safetensors, LayoutIsWhatTheReaderFindsAndEveryTensorIsAligned) {
  TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  save_safetensors(path, kEntries, write_sample_values);
  const SafetensorsLayout layout = lay_out(kEntries, {});
  const SafetensorsFile file(path);
  for (const StoredTensor& tensor : layout.header.tensors) {
    ASSERT_NE(file.find(tensor.name), nullptr);
    EXPECT_EQ(*file.find(tensor.name), tensor);
    EXPECT_EQ(tensor.begin % element_bytes(tensor.type), 0u) << tensor.name;
  }
  EXPECT_EQ(layout.header.file_bytes(), std::filesystem::file_size(path));
}

TEST(Safetensors, FileWithoutTensorsRoundTrips) {
  TemporaryFolder folder;
  save_safetensors(folder.path() / "x.safetensors", {}, write_sample_values);
  EXPECT_TRUE(SafetensorsFile(folder.path() / "x.safetensors").tensors().empty());
}

TEST(Safetensors, FailedSaveLeavesTheOldFileAndNoLitter) {
  TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  save_safetensors(path, kEntries, write_sample_values);
  const std::string before = read_text(path);
  const auto failing = [](std::size_t index, std::span<std::byte>) {
    if (index == 2) throw std::runtime_error("device lost");
  };
  EXPECT_THROW(save_safetensors(path, kEntries, failing), std::runtime_error);
  EXPECT_EQ(read_text(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, NamesThatCannotBeStoredAreRefused) {
  const TensorSpec scalar{{}, DType::f32};
  for (const std::vector<TensorEntry>& entries :
       {std::vector<TensorEntry>{{"a", scalar}, {"a", scalar}},
        std::vector<TensorEntry>{{"", scalar}}, std::vector<TensorEntry>{{"__metadata__", scalar}},
        std::vector<TensorEntry>{{"\xff", scalar}}}) {
    EXPECT_THROW(lay_out(entries, {}), Error) << entries[0].name;
  }
}

TEST(Safetensors, OtherModelsTensorIsRefusedWithBothSpecs) {
  TemporaryFolder folder;
  save_safetensors(folder.path() / "x.safetensors", kEntries, write_sample_values);
  const SafetensorsFile file(folder.path() / "x.safetensors");
  EXPECT_THROW(file.bytes(TensorEntry{"none", {{3}, DType::f32}}), Error);
  EXPECT_THROW(file.bytes(TensorEntry{"a", {{3}, DType::i32}}), Error);
  try {
    file.bytes(TensorEntry{"a", {{4}, DType::f32}});
    FAIL() << "a wrong shape was let through";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tensor 'a' is F32[3], but F32[4]"), std::string::npos)
        << error.what();
  }
}

TEST(SafetensorsHeader, SoundHeadersOfOtherWritersAreRead) {
  EXPECT_EQ(refusal("{}", 0), "");
  EXPECT_EQ(refusal("{}   ", 0), "");
  EXPECT_EQ(
      refusal(
          R"({"b":{"dtype":"BF16","shape":[2],"data_offsets":[1,5]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          5),
      "");
}

TEST(SafetensorsHeader, HeaderLengthOutsideTheFileIsRefused) {
  EXPECT_NE(refusal(std::string()), "");
  EXPECT_NE(refusal(std::string(7, '\0')), "");
  EXPECT_NE(refusal(std::string(8, '\0')), "");
  EXPECT_NE(refusal(std::string(8, '\xff') + "{}"), "");
  std::string one_too_long = safetensors_text("{}", 0);
  one_too_long[0] = 3;
  EXPECT_NE(refusal(one_too_long).find("3 bytes, but the file has 10"), std::string::npos);
}

TEST(SafetensorsHeader, LyingHeadersAreRefused) {
  struct Case {
    const char* why;
    const char* header;
    std::size_t value_bytes;
  };
  const Case cases[] = {
      {"bytes follow", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5},
      {"bytes follow", "{}", 1},
      {"ends at 4", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3},
      {"needs 8 bytes", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4},
      {"begins at 4", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8},
      {"begins at 0",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4},
      {"begins at 2",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
       6},
      {"begin and an end", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4},
      {"begin and an end", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4},
      {"'a' twice",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4},
      {"'dtype' twice", R"({"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}})",
       4},
      {"has -1", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4},
      {"has 1.0", R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4},
      {"too large", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       0},
      {"too large",
       R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0},
      {"too large", R"({"a":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,0]}})",
       0},
      {"too large", R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})",
       4},
      {"not a count",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]}})", 4},
      {"more than 8", R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
       4},
      {"unknown", R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4},
      {"not text", R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", 4},
      {"not a list", R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4},
      {"not described", R"({"a":{"dtype":"F32","shape":[1]}})", 4},
      {"not described", R"({"a":7})", 0},
      {"__metadata__", R"({"__metadata__":{"a":1}})", 0},
      {"__metadata__", R"({"__metadata__":"a"})", 0},
      {"deeper", R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4},
      {"begin with", " {}", 0},
      {"not JSON", "{} x", 0},
      {"ends too early", "{", 0},
      {"not JSON", "{\"\xff\":1}", 0},
  };
  for (const Case& c : cases) {
    EXPECT_NE(refusal(c.header, c.value_bytes).find(c.why), std::string::npos)
        << c.header << "\n gave: " << refusal(c.header, c.value_bytes);
  }
}

TEST(SafetensorsHeader, NothingHidesBehindANulByte) {
  EXPECT_NE(refusal(std::string_view("{}\0{\"a\":1}", 10), 0).find("NUL"), std::string::npos);
}

TEST(SafetensorsHeader, AMillionOpenBracketsAreRefused) {
  EXPECT_NE(refusal("{\"a\":" + std::string(1'000'000, '['), 0).find("deeper"), std::string::npos);
}

// Interoperability with the reader and writer of the reference implementation.
class SafetensorsPython : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 'import safetensors.numpy' >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "the Python package safetensors is not installed: pip install safetensors numpy";
    }
  }

  int run(const std::string& script) const {
    const auto path = folder_.path() / "script.py";
    write_text(
        path,
        "from safetensors.numpy import save_file, load_file\nfrom safetensors import safe_open\n"
        "import numpy as np\n" +
            script);
    return std::system(("cd '" + folder_.path().string() + "' && python3 script.py").c_str());
  }

  TemporaryFolder folder_;
};

TEST_F(SafetensorsPython, ReadsWhatIsWrittenHere) {
  save_safetensors(folder_.path() / "x.safetensors", kEntries, write_sample_values,
                   {{"note", "hello"}});
  EXPECT_EQ(run(R"(
t = load_file("x.safetensors")
assert sorted(t) == sorted(["a", 'b "q" ü', "c", "d"]), t
assert t["a"].dtype == np.float32 and t["a"].tolist() == [1.5, -2, 3]
assert t['b "q" ü'].dtype == np.float64 and t['b "q" ü'].tolist() == [[0.1], [-1e300]]
assert t["c"].dtype == np.int32 and t["c"].shape == () and t["c"] == -7
assert t["d"].shape == (0, 5)
assert safe_open("x.safetensors", "np").metadata() == {"note": "hello"}
)"),
            0);
}

TEST_F(SafetensorsPython, FilesAreReadHere) {
  ASSERT_EQ(run(R"(
save_file({"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(-5, dtype=np.int32),
           "x": np.array([0.25], dtype=np.float64), "big": np.array([1 << 40], dtype=np.int64),
           "half": np.array([1, 2, 3], dtype=np.float16), "yes": np.array([True]),
           "none": np.zeros((0, 2), dtype=np.uint8)}, "x.safetensors", {"from": "python"})
)"),
            0);
  const SafetensorsFile file(folder_.path() / "x.safetensors");
  EXPECT_EQ(values<float>(file, {"w", {{2, 3}, DType::f32}}),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values<std::int32_t>(file, {"n", {{}, DType::i32}}), (std::vector<std::int32_t>{-5}));
  EXPECT_EQ(values<double>(file, {"x", {{1}, DType::f64}}), (std::vector<double>{0.25}));
  ASSERT_NE(file.find("big"), nullptr);
  EXPECT_EQ(file.find("big")->type, StoredType::i64);
  EXPECT_EQ(std::to_integer<int>(file.bytes(*file.find("big"))[5]), 1);
  EXPECT_EQ(file.find("half")->type, StoredType::f16);
  EXPECT_EQ(file.find("yes")->type, StoredType::boolean);
  EXPECT_EQ(file.metadata(), (Metadata{{"from", "python"}}));
}

}  // namespace
}  // namespace troika
