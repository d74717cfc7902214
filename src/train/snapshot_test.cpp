#include "train/snapshot.h"

#include "checkpoint/safetensors.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

RunConfig recurrent_run(const Folder& folder, int seed) {
  std::string run =
      "[model]\nname = \"rnnlm\"\nlayers = 1\nhidden = 6\n[data]\ntrain = \"" +
      folder.text(rhyme()) +
      "\"\nsequence = 8\n[train]\nglobal_batch = 4\nsteps = 2\nseed = " + std::to_string(seed) +
      "\n[optimizer]\nname = \"adam\"\n[parallel]\nthreads = 1\n";
  return parse_run(run, "recurrent.toml", {}).config;
}

std::unique_ptr<TrainingRun> recurrent_training(const Folder& folder, int seed) {
  auto training = make_training(recurrent_run(folder, seed));
  training->initialize();
  return training;
}

TEST(Snapshot, HasRecurrentWeightsInTheShapesOfPyTorch) {
  Folder folder;
  auto training = recurrent_training(folder, 1), other = recurrent_training(folder, 2);
  save_state(folder.path / "checkpoints", training->live(), training->state());
  Checkpoint checkpoint = Checkpoint::open(find_checkpoint(folder.path));
  // The shapes of older checkpoints, which therefore still load.
  for (const char* name : {"lstm.0.w_ih", "lstm.0.w_hh", "lstm.0.w_ih.first_moment"}) {
    ASSERT_NE(checkpoint.find(name), nullptr) << name;
    EXPECT_EQ(checkpoint.find(name)->spec.shape, (Shape{24, 6})) << name;
  }
  EXPECT_EQ(checkpoint.find("lstm.0.bias")->spec.shape, (Shape{24}));
  EXPECT_NE(state_of(*other), state_of(*training));
  load_state(checkpoint, other->live());
  EXPECT_EQ(state_of(*other), state_of(*training));
}

TEST(Snapshot, TakesRecurrentWeightsFromAFileInTheShapesOfPyTorch) {
  Folder folder;
  auto training = recurrent_training(folder, 1);
  const TensorSpec matrix{{24, 6}, DType::f32}, gates{{4, 6, 6}, DType::f32};
  std::vector<TensorEntry> entries{{"lstm.0.w_ih", matrix}, {"lstm.0.w_hh", gates}};
  fs::path file = folder.path / "weights.safetensors";
  save_safetensors(file, entries, [](std::size_t, std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{1});
  });
  std::vector<std::string> rest = load_weights(file, training->live(), {});
  EXPECT_EQ(std::ranges::count(rest, "lstm.0.w_ih"), 0);
  EXPECT_EQ(std::ranges::count(rest, "lstm.0.w_hh"), 1) << "not a shape that PyTorch has";
  std::vector<std::byte> loaded(static_cast<std::size_t>(matrix.bytes().count));
  training->live().session().store("lstm.0.w_ih", loaded);
  EXPECT_EQ(std::ranges::count(loaded, std::byte{1}), std::ssize(loaded));
}

}  // namespace
}  // namespace troika
