#include "train/snapshot.h"

#include "checkpoint/safetensors.h"
#include "strategy/ready.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

RunConfig recurrent_run(const Folder& folder, int seed, int devices = 1) {
  std::string run =
      "[model]\nname = \"rnnlm\"\nlayers = 1\nhidden = 6\n[data]\ntrain = \"" +
      folder.text(rhyme()) +
      "\"\nsequence = 8\n[train]\nglobal_batch = 4\nsteps = 2\nseed = " + std::to_string(seed) +
      "\n[optimizer]\nname = \"adam\"\n[parallel]\nthreads = 1\ndevices = " +
      std::to_string(devices) + (devices > 1 ? "\nplan = \"data\"\n" : "\n");
  return parse_run(run, "recurrent.toml", {}).config;
}

std::unique_ptr<TrainingRun> recurrent_training(const Folder& folder, int seed) {
  auto training = make_training(recurrent_run(folder, seed));
  training->initialize();
  return training;
}

constexpr std::int64_t kSteps = 8;  // the length of a sample

/// Data parallelism over two devices, but for the layer.
Strategy with_layer(const RunConfig& config, const Split& split) {
  auto sets = open_sets(config);
  zoo::Model model = build_model(
      config.model, samples_of(sets.train->encoding(), config, config.train.global_batch));
  Machine machine;
  machine.devices.resize(2);
  Strategy strategy = ready_strategy("data", model.train(), machine);
  strategy.splits["lstm.0"] = split;
  return strategy;
}

std::unique_ptr<TrainingRun> cut_training(const Folder& folder, int seed, const Strategy& plan) {
  auto training = make_training(recurrent_run(folder, seed, 2), {.strategy = plan});
  training->initialize();
  return training;
}

using NamesAndShapes = std::map<std::string, std::string>;

NamesAndShapes names_and_shapes(const Checkpoint& checkpoint) {
  NamesAndShapes all;
  for (const IndexedTensor& tensor : checkpoint.tensors())
    all[tensor.name] = to_string(tensor.spec);
  return all;
}

/// Saves one run and loads it as the other. Returns what the files have.
NamesAndShapes move_state(const fs::path& folder, TrainingRun& from, TrainingRun& to) {
  save_state(folder / "checkpoints", from.live(), from.state());
  Checkpoint checkpoint = Checkpoint::open(find_checkpoint(folder));
  EXPECT_NE(state_of(to), state_of(from));
  load_state(checkpoint, to.live());
  EXPECT_EQ(state_of(to), state_of(from));
  return names_and_shapes(checkpoint);
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

class SnapshotOfCutLayer : public testing::TestWithParam<std::pair<Split, bool>> {};

TEST_P(SnapshotOfCutLayer, IsThatOfTheWholeLayer) {
  Folder folder;
  auto [split, is_sliced] = GetParam();
  Strategy plan = with_layer(recurrent_run(folder, 1), split);
  plan.sync.sliced_update = is_sliced;
  auto whole = recurrent_training(folder, 1), cut = cut_training(folder, 1, plan);
  // Each device initialises its own part, so equal numbers lie in equal places.
  EXPECT_EQ(state_of(*cut), state_of(*whole));
  whole->run(nullptr);
  cut->run(nullptr);
  NamesAndShapes of_whole =
      move_state(folder.path / "whole", *whole, *cut_training(folder, 2, plan));
  NamesAndShapes of_cut = move_state(folder.path / "cut", *cut, *recurrent_training(folder, 2));
  EXPECT_EQ(of_cut, of_whole);
  EXPECT_EQ(of_cut.at("lstm.0.w_hh"), to_string(TensorSpec{{24, 6}, DType::f32}));
  EXPECT_EQ(of_cut.at("lstm.0.bias.second_moment"), to_string(TensorSpec{{24}, DType::f32}));
}

const Split kInUnits{.factors = {{"u", 2}}, .chunks = kSteps},
    kInSamples{.factors = {{"n", 2}}, .chunks = 3};

std::string name_of_plan(const testing::TestParamInfo<std::pair<Split, bool>>& row) {
  return row.param.first.factors[0].axis + (row.param.second ? "Sliced" : "");
}

INSTANTIATE_TEST_SUITE_P(Plans, SnapshotOfCutLayer,
                         testing::Values(std::pair(kInUnits, false), std::pair(kInUnits, true),
                                         std::pair(kInSamples, true)),
                         name_of_plan);

}  // namespace
}  // namespace troika
