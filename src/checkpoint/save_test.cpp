#include "checkpoint/save.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <random>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "checkpoint/marker.h"
#include "checkpoint/retention.h"
#include "checkpoint/testing/sample_checkpoint.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

/// Returns the error message of a save; empty if it succeeds.
std::string refusal(const fs::path& checkpoints, const Snapshot& snapshot) {
  try {
    save_checkpoint(checkpoints, snapshot);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::int64_t newest_step(const fs::path& checkpoints) {
  const auto found = find_newest_checkpoint(checkpoints);
  return found ? Checkpoint::open(found->folder).step() : -1;
}

TEST(SaveCheckpoint, ReplacesTheSameStepAndLeavesNothingElse) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_snapshot(5));
  Snapshot again = sample_snapshot(5);
  again.meta_json = R"({"second":true})";
  save_checkpoint(folder.path(), again);
  EXPECT_EQ(Checkpoint::open(folder.path() / "step-5").meta_json(), R"({"second":true})");
  EXPECT_EQ(count_entries(folder.path()), 2u);  // step-5 and latest
}

/// Threads that write one checkpoint together; `owner` maps each part to a thread.
void save_together(const fs::path& checkpoints, int count,
                   const std::function<int(const SnapshotPart&)>& owner,
                   const std::vector<SnapshotPart>& parts) {
  std::barrier meeting(count);
  std::vector<std::string> texts(static_cast<std::size_t>(count));
  std::vector<std::jthread> writers;
  for (int rank = 0; rank < count; ++rank) {
    writers.emplace_back([&, rank] {
      Snapshot snapshot = sample_snapshot(7);
      TensorSource whole = snapshot.read;
      std::vector<SnapshotPart> own;
      std::ranges::copy_if(parts, std::back_inserter(own),
                           [&](const SnapshotPart& part) { return owner(part) == rank; });
      snapshot.parts = own;
      snapshot.read = [&](std::size_t index, std::span<std::byte> bytes) {
        const TensorSpec& spec = snapshot.tensors[own[index].tensor].spec;
        std::vector<std::byte> all(static_cast<std::size_t>(spec.bytes().count));
        whole(own[index].tensor, all);
        auto size = size_of(spec.dtype).count;
        std::size_t done = 0;
        for_each_run(spec.shape, own[index].region, [&](std::int64_t offset, std::int64_t length) {
          auto count_here = static_cast<std::size_t>(length * size);
          std::ranges::copy(
              std::span(all).subspan(static_cast<std::size_t>(offset * size), count_here),
              bytes.begin() + static_cast<std::ptrdiff_t>(done));
          done += count_here;
        });
      };
      save_checkpoint(checkpoints, snapshot, {rank, count, [&](const std::string& text) {
                                                texts[static_cast<std::size_t>(rank)] = text;
                                                meeting.arrive_and_wait();
                                                std::vector<std::string> all = texts;
                                                meeting.arrive_and_wait();
                                                return all;
                                              }});
    });
  }
}

TEST(SaveCheckpoint, SeveralWritersMakeTheFilesThatOneMakes) {
  TemporaryFolder folder;
  save_checkpoint(folder.path() / "one", sample_snapshot(7));
  std::vector<SnapshotPart> parts;
  for (std::size_t tensor = 0; tensor < 6; ++tensor) {
    const Shape shape = sample_snapshot(7).tensors[tensor].spec.shape;
    Region whole = Region::whole(shape);
    if (shape.rank() == 0 || whole.empty()) {
      parts.push_back({tensor, whole});
      continue;
    }
    for (std::int64_t at = 0; at < shape[shape.rank() - 1]; ++at) {  // by columns
      parts.push_back({tensor, whole});
      parts.back().region.ranges.back() = {at, at + 1};
    }
  }
  for (int count : {1, 2, 3}) {
    const fs::path several = folder.path() / std::to_string(count);
    save_together(
        several, count,
        [&](const SnapshotPart& part) { return static_cast<int>(&part - parts.data()) % count; },
        parts);
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "index.json"})
      EXPECT_EQ(read_text(several / "step-7" / file),
                read_text(folder.path() / "one/step-7" / file))
          << file << " by " << count;
    EXPECT_EQ(newest_step(several), 7);
  }
}

TEST(SaveCheckpoint, RemovesWhatAKilledSaveLeftBehind) {
  TemporaryFolder folder;
  fs::create_directories(folder.path() / "step-4.partial-123" / "inner");
  write_text(folder.path() / "latest.partial-99", "step");
  save_checkpoint(folder.path(), sample_snapshot(5));
  EXPECT_EQ(count_entries(folder.path()), 2u);
}

TEST(SaveCheckpoint, TensorNamesMustDifferOverAllFiles) {
  TemporaryFolder folder;
  Snapshot snapshot = sample_snapshot(5);
  snapshot.tensors[3].name = "fc.weight";
  EXPECT_NE(refusal(folder.path(), snapshot).find("'fc.weight'"), std::string::npos);
}

TEST(SaveCheckpoint, FailingSourceLeavesTheEarlierCheckpointUntouched) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_snapshot(1));
  Snapshot failing = sample_snapshot(2);
  failing.read = [](std::size_t index, std::span<std::byte>) {
    if (index == 4) throw std::runtime_error("device lost");
  };
  EXPECT_THROW(save_checkpoint(folder.path(), failing), std::runtime_error);
  EXPECT_EQ(newest_step(folder.path()), 1);
  EXPECT_EQ(count_entries(folder.path()), 2u);
}

TEST(SaveCheckpoint, NoRoomGivesASentenceAndLeavesTheEarlierCheckpoint) {
  TemporaryFolder folder;
  save_checkpoint(folder.path(), sample_snapshot(1));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 300;
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string sentence = refusal(folder.path(), sample_snapshot(2));
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_NE(sentence.find("cannot write"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("File too large; "), std::string::npos) << sentence;
  EXPECT_EQ(newest_step(folder.path()), 1);
  EXPECT_EQ(count_entries(folder.path()), 2u);
}

TEST(SaveCheckpoint, FolderThatMayNotBeWrittenGivesASentence) {
  TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec |
                                     fs::perms::others_read | fs::perms::others_exec);
  const bool is_root = ::geteuid() == 0;  // Root may write anywhere, so it steps down for a moment.
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string sentence = refusal(folder.path() / "checkpoints", sample_snapshot(1));
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
  EXPECT_NE(sentence.find("Permission denied; make the folder writable"), std::string::npos)
      << sentence;
}

TEST(SaveCheckpoint, FileInPlaceOfTheFolderGivesASentence) {
  TemporaryFolder folder;
  write_text(folder.path() / "file", "");
  EXPECT_NE(refusal(folder.path() / "file", sample_snapshot(1)).find("cannot create the folder"),
            std::string::npos);
  EXPECT_NE(refusal(folder.path() / "file" / "x", sample_snapshot(1)), "");
}

/// Saves in an endless loop and keeps two; every third step is saved twice. Ends by a signal only.
[[noreturn]] void save_forever(const fs::path& checkpoints, std::int64_t step) {
  try {
    for (;; ++step) {
      save_checkpoint(checkpoints, sample_snapshot(step));
      if (step % 3 == 0) save_checkpoint(checkpoints, sample_snapshot(step));
      if (!retain_checkpoints(checkpoints, 2).empty()) ::_exit(1);
    }
  } catch (...) {
    ::_exit(1);
  }
}

/// A child process that saves until it is killed after `delay`.
void kill_a_saving_child(const fs::path& checkpoints, std::int64_t first_step,
                         std::chrono::microseconds delay) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) save_forever(checkpoints, first_step);
  std::this_thread::sleep_for(delay);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed to save";
}

bool has_partials(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    return entry.path().string().find(".partial-") != std::string::npos;
  });
}

TEST(SaveCheckpoint, KilledAtAnyMomentTheNewestCheckpointStillLoads) {
  TemporaryFolder folder(fast_folder());
  save_checkpoint(folder.path(), sample_snapshot(0));
  std::mt19937 random(17);
  double longest = 2000;  // Microseconds; follows the speed of the machine, so that about two
                          // rounds in three save.
  std::int64_t newest = 0;
  int hits = 0;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::chrono::microseconds delay(random() % static_cast<unsigned>(longest));
    ASSERT_NO_FATAL_FAILURE(kill_a_saving_child(folder.path(), newest + 1, delay));
    hits += has_partials(folder.path());
    for (std::int64_t step : list_steps(folder.path())) {
      ASSERT_EQ(checkpoint_fault(step_folder(folder.path(), step)).value_or(""), "");
    }
    const std::int64_t step = newest_step(folder.path());
    ASSERT_GE(step, newest) << "a completed checkpoint was lost";
    longest = std::clamp(longest * (step > newest ? 0.9 : 1.25), 1000.0, 100'000.0);
    newest = step;
  }
  EXPECT_GT(newest, 20) << "the kills came too early to test anything";
  EXPECT_GT(hits, 20) << "the kills never hit a save";
}

}  // namespace
}  // namespace troika
