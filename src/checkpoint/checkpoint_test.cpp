#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/marker.h"
#include "checkpoint/retention.h"
#include "checkpoint/testing/sample_checkpoint.h"

namespace troika {
namespace {

const char* const kFiles[] = {"index.json", "model.safetensors", "optimizer.safetensors"};

/// Loads a checkpoint as a run does; returns the error message, or an empty text.
std::string load(const std::filesystem::path& folder) {
  try {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    std::vector<std::byte> buffer;
    for (const IndexedTensor& tensor : checkpoint.tensors()) {
      buffer.resize(static_cast<std::size_t>(tensor.spec.bytes().count));
      checkpoint.read(tensor.name, buffer);
    }
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file);
    return error.what();
  }
}

bool says(const std::string& sentence, const std::string& part) {
  return sentence.find(part) != std::string::npos;
}

class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    save_checkpoint(checkpoints_, sample_snapshot(1));
    save_checkpoint(checkpoints_, sample_snapshot(2));
    ASSERT_EQ(load(step_folder(checkpoints_, 2)), "");
  }

  void expect_refused(const std::string& file, const std::string& what_was_done) {
    const std::string sentence = load(step_folder(checkpoints_, 2));
    EXPECT_TRUE(says(sentence, "step-2/" + file))
        << file << ", " << what_was_done << ": " << sentence;
    EXPECT_TRUE(says(sentence, "step-1', which is intact")) << sentence;
    EXPECT_TRUE(checkpoint_fault(step_folder(checkpoints_, 2)).has_value())
        << file << ", " << what_was_done;
  }

  TemporaryFolder folder_{fast_folder()};
  std::filesystem::path checkpoints_ = folder_.path() / "checkpoints";
};

TEST(Checkpoint, RoundTripKeepsEveryTensorAndTheMetaObject) {
  TemporaryFolder folder;
  const Snapshot snapshot = sample_snapshot(40);
  save_checkpoint(folder.path() / "runs" / "checkpoints", snapshot);
  const Checkpoint checkpoint =
      Checkpoint::open(folder.path() / "runs" / "checkpoints" / "step-40");
  EXPECT_EQ(checkpoint.step(), 40);
  EXPECT_EQ(checkpoint.meta_json(), snapshot.meta_json);
  ASSERT_EQ(checkpoint.tensors().size(), snapshot.tensors.size());
  for (std::size_t at = 0; at < snapshot.tensors.size(); ++at) {
    EXPECT_EQ(checkpoint.tensors()[at].name, snapshot.tensors[at].name);
    EXPECT_EQ(checkpoint.tensors()[at].spec, snapshot.tensors[at].spec);
    std::vector<std::byte> found(static_cast<std::size_t>(snapshot.tensors[at].spec.bytes().count));
    std::vector<std::byte> expected(found.size());
    snapshot.read(at, expected);
    checkpoint.read(snapshot.tensors[at].name, found);
    EXPECT_EQ(found, expected) << snapshot.tensors[at].name;
  }
  checkpoint.verify_all();
}

TEST(Checkpoint, ModelFileLoadsAsPlainSafetensors) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_snapshot(3));
  const SafetensorsFile file(folder.path() / "step-3" / "model.safetensors");
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.bytes(TensorEntry{"fc.bias", {{2}, DType::f64}})[5], sample_byte(3, 1, 5));
}

TEST(Checkpoint, EmptySnapshotRoundTrips) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), {.step = 0, .meta_json = "{}", .tensors = {}, .read = {}});
  EXPECT_TRUE(Checkpoint::open(folder.path() / "step-0").tensors().empty());
}

TEST(Checkpoint, UnknownTensorIsNamed) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_snapshot(3));
  const Checkpoint checkpoint = Checkpoint::open(folder.path() / "step-3");
  EXPECT_EQ(checkpoint.find("fc.gain"), nullptr);
  EXPECT_THROW(checkpoint.read("fc.gain", {}), Error);
}

TEST(Checkpoint, WithoutAnotherOneTheAdviceSaysSo) {
  TemporaryFolder folder;
  EXPECT_TRUE(says(load(folder.path() / "step-9"), "no other checkpoint in that folder is intact"));
}

TEST_F(DamagedCheckpoint, AnyFlippedByteOfAnyFileIsRefused) {
  for (const char* file : kFiles) {
    const auto path = step_folder(checkpoints_, 2) / file;
    const std::string good = read_text(path);
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (int mask : {1, 32, 128, 255}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ mask);
        write_text(path, bad);
        expect_refused(file, "byte " + std::to_string(at) + " xor " + std::to_string(mask));
      }
    }
    write_text(path, good);
  }
  EXPECT_EQ(load(step_folder(checkpoints_, 2)), "");
}

TEST_F(DamagedCheckpoint, AnyTruncationOfAnyFileIsRefused) {
  for (const char* file : kFiles) {
    const auto path = step_folder(checkpoints_, 2) / file;
    const std::string good = read_text(path);
    for (std::size_t size = 0; size < good.size(); ++size) {
      write_text(path, std::string_view(good).substr(0, size));
      expect_refused(file, "cut to " + std::to_string(size));
    }
    write_text(path, good);
  }
}

TEST_F(DamagedCheckpoint, AddedBytesAreRefused) {
  for (const char* file : kFiles) {
    const auto path = step_folder(checkpoints_, 2) / file;
    const std::string good = read_text(path);
    for (const char* tail : {" ", "\n", "x"}) {
      write_text(path, good + tail);
      expect_refused(file, "added a byte");
    }
    write_text(path, good);
  }
}

TEST_F(DamagedCheckpoint, MissingFileIsRefused) {
  for (const char* file : kFiles) {
    const auto path = step_folder(checkpoints_, 2) / file;
    std::filesystem::rename(path, folder_.path() / "away");
    expect_refused(file, "taken away");
    std::filesystem::rename(folder_.path() / "away", path);
  }
}

TEST_F(DamagedCheckpoint, FileOfAnotherStepIsRefused) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const auto path = step_folder(checkpoints_, 2) / file;
    const std::string good = read_text(path);
    write_text(path, read_text(step_folder(checkpoints_, 1) / file));
    expect_refused(file, "replaced by that of step 1");
    write_text(path, good);
  }
}

TEST_F(DamagedCheckpoint, TheChangedTensorIsNamed) {
  const auto path = step_folder(checkpoints_, 2) / "model.safetensors";
  std::string bytes = read_text(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(path, bytes);
  EXPECT_TRUE(says(load(step_folder(checkpoints_, 2)), "tensor 'fc.weight' does not match"));
}

TEST_F(DamagedCheckpoint, AnyDamageToLatestIsSeenAndTheCheckpointsAreStillFound) {
  const auto path = checkpoints_ / "latest";
  const std::string good = read_text(path);
  std::vector<std::string> bad_ones{good + "\n"};
  for (std::size_t at = 0; at < good.size(); ++at) {
    bad_ones.push_back(good.substr(0, at));
    for (int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      bad_ones.push_back(good);
      bad_ones.back()[at] = static_cast<char>(good[at] ^ mask);
    }
  }
  for (const std::string& bad : bad_ones) {
    write_text(path, bad);
    const auto found = find_newest_checkpoint(checkpoints_);
    ASSERT_TRUE(found.has_value()) << bad;
    EXPECT_EQ(found->folder, step_folder(checkpoints_, 2)) << bad;
    EXPECT_TRUE(says(found->warning, "latest' is damaged")) << found->warning;
  }
}

TEST(Index, TextRoundTrips) {
  const Index index{.step = 7,
                    .files = {{"a.safetensors", 0xfedcba9876543210u}},
                    .tensors = {{"w \"x\"", {{2, 0}, DType::i32}, "a.safetensors", 5}},
                    .meta_json = R"({"z":1,"a":[18446744073709551615,-3,0.1,null]})"};
  EXPECT_EQ(parse_index(to_text(index), "index.json"), index);
}

TEST(Index, MetaThatIsNotAnObjectIsRefused) {
  for (const char* meta : {"", "[]", "{", "{} x", R"({"a":1,"a":2})"}) {
    EXPECT_THROW(to_text({.step = 1, .files = {}, .tensors = {}, .meta_json = meta}), Error)
        << meta;
  }
}

TEST(Index, NeverNamesAFileOutsideItsFolder) {
  for (const char* name : {"../a.safetensors", "/a.safetensors", ".safetensors", "a.txt", ""}) {
    const Index index{.step = 1, .files = {{name, 0}}, .tensors = {}, .meta_json = "{}"};
    EXPECT_THROW(parse_index(to_text(index), "index.json"), Error) << name;
  }
}

}  // namespace
}  // namespace troika
