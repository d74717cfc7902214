// Equal tiles at different places have equal keys. One kernel computes all of them, and the
// position of the launch decides which part of the whole it is.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/cpu.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "kernels/tile_parts_test.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// A phase of an operator that is cut along one axis into parts of equal extent.
struct CutPhase {
  OpCase whole;
  std::string axis;
  std::int64_t degree;
  Phase phase;
};

std::vector<CutPhase> cuts() {
  TensorSpec rows{{6, 5, 8}, DType::f32};
  Dropout dropout{.rate = 0.4, .stream = 0xfedcba9876543210};
  OpCase dropped{"dropout", dropout, {rows}};
  OpCase embedding{"embedding", Embedding{.vocabulary = 12, .width = 5}, {i32({40})}};
  OpCase loss{
      "cross_entropy", CrossEntropy{}, {{{9, 12}, DType::f32}, i32({9}), {{9}, DType::f32}}};
  OpCase attention{"attention", Attention{.heads = 2, .packed = true}, {{{2, 6, 24}, DType::f32}}};
  Recurrent step{.kind = RecurrentKind::gru, .hidden = 6, .has_state = true, .projected = true};
  OpCase gru{"gru", step, {{{3, 1, 3, 6}, DType::f32}, {{3, 6}, DType::f32}}};
  step.kind = RecurrentKind::lstm;
  OpCase lstm{
      "lstm", step, {{{3, 1, 4, 6}, DType::f32}, {{3, 6}, DType::f32}, {{3, 6}, DType::f32}}};
  return {{gru, "u", 2, Phase::forward},       {gru, "u", 3, Phase::backward},
          {lstm, "u", 3, Phase::forward},      {lstm, "u", 2, Phase::backward},
          {dropped, "n", 3, Phase::forward},   {dropped, "u", 2, Phase::backward_data},
          {embedding, "v", 4, Phase::forward}, {embedding, "v", 3, Phase::backward_weight},
          {loss, "v", 2, Phase::statistics_2}, {loss, "v", 3, Phase::backward_data},
          {attention, "q", 2, Phase::forward}};
}

class TilesOfOneKernel {
 public:
  explicit TilesOfOneKernel(const CutPhase& cut)
      : cut_(cut),
        whole_(cut.whole, 5),
        axis_(static_cast<std::size_t>(whole_.signature.axis(cut.axis))) {
    auto reference = make_reference_backend();
    for (const auto* phases : {&whole_.signature.phases, &whole_.signature.staged}) {
      for (const PhaseSpec& phase : *phases) whole_.run(phase.phase, *reference);
    }
  }

  /// One kernel, launched for each tile.
  void check(const Backend& backend) {
    OpTrial joined = whole_;
    for (const Use& use : phase().uses)
      if (use.access == Access::write) clear(joined.tensor(use));
    std::unique_ptr<Kernel> kernel;
    KernelKey key;
    for (std::int64_t part = 0; part < cut_.degree; ++part) {
      Region tile = whole_.signature.whole_tile();
      std::int64_t extent = tile[axis_].extent() / cut_.degree;
      tile.ranges[axis_] = {part * extent, (part + 1) * extent};
      OpTrial local(local_case(whole_, tile), 7);
      if (part == 0) {
        key = local.key(cut_.phase);
        kernel = backend.compile(key, backend.candidates(key).front());
      }
      EXPECT_EQ(local.key(cut_.phase), key) << "part " << part;
      launch(*kernel, backend.candidates(key).front(), local, tile, joined);
    }
    for (const Use& use : phase().uses) {
      if (use.access == Access::read) continue;
      EXPECT_LT(distance(joined.tensor(use), whole_.tensor(use)), 1e-5)
          << to_text(key) << " slot " << use.slot;
    }
  }

 private:
  const PhaseSpec& phase() const { return whole_.signature.at(cut_.phase); }
  static void clear(HostTensor& tensor) { std::ranges::fill(tensor.bytes, std::byte{}); }
  Region region(const Use& use, const Region& tile) const {
    return region_of(whole_.signature.slots[static_cast<std::size_t>(use.slot)], tile);
  }

  void launch(Kernel& kernel, const Candidate& candidate, OpTrial& local, const Region& tile,
              OpTrial& joined) {
    std::vector<DevicePointer> operands;
    for (const Use& use : phase().uses) {
      if (use.access == Access::read)
        local.tensor(use) = cut(whole_.tensor(use), region(use, tile));
      operands.push_back(local.tensor(use).bytes.data());
    }
    std::vector<std::byte> scratch(static_cast<std::size_t>(candidate.scratch.count) + 64);
    auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    kernel.launch(operands, scratch.data() + (64 - address % 64), local.position);
    for (const Use& use : phase().uses)
      if (use.access == Access::write)
        put(joined.tensor(use), region(use, tile), local.tensor(use), Combine::sum);
  }

  const CutPhase& cut_;
  OpTrial whole_;
  std::size_t axis_;
};

TEST(Position, TellsOneReferenceKernelWhichTileItComputes) {
  auto backend = make_reference_backend();
  for (const CutPhase& cut : cuts()) TilesOfOneKernel(cut).check(*backend);
}

TEST(Position, TellsOneCpuKernelWhichTileItComputes) {
  try {
    auto backend = make_cpu_backend({.threads = 2});
    for (const CutPhase& cut : cuts()) TilesOfOneKernel(cut).check(*backend);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

/// One kernel that cuts columns out of some rows of a matrix, at all places where they fit.
void cut_everywhere(const Backend& backend) {
  OpCase row{"cut", Assemble{.shape = {2, 3}, .boxes = {0, 0, 2, 3}}, {{{5, 4}, DType::f32}}};
  OpTrial trial(row, 5);
  KernelKey key = trial.key(Phase::forward);
  std::unique_ptr<Kernel> kernel = backend.compile(key, backend.candidates(key).front());
  std::vector<DevicePointer> operands{trial.values[0].bytes.data(), trial.values[1].bytes.data()};
  for (std::int64_t i = 0; i <= 3; ++i) {
    for (std::int64_t j = 0; j <= 1; ++j) {
      kernel->launch(operands, nullptr, std::vector{i, j});
      EXPECT_EQ(trial.values[1].bytes, cut(trial.values[0], Region{{{i, i + 2}, {j, j + 3}}}).bytes)
          << backend.name() << " at " << i << ", " << j;
    }
  }
}

TEST(Position, TellsOneKernelWhichBoxItCutsOut) {
  cut_everywhere(*make_reference_backend());
  try {
    cut_everywhere(*make_cpu_backend({.threads = 2}));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

/// One kernel that puts four columns together, the own one first, as each of four devices does.
void rotate_columns(const Backend& backend) {
  Assemble op{.shape = {3, 8}, .layered = true};
  OpCase row{"rotate", op, {}};
  for (int part = 0; part < 4; ++part) {
    add_box(std::get<Assemble>(row.op), {{{0, 3}, {0, 2}}});
    row.inputs.push_back({{3, 2}, DType::f32});
  }
  OpTrial trial(row, 5);
  KernelKey key = trial.key(Phase::forward);
  std::unique_ptr<Kernel> kernel = backend.compile(key, backend.candidates(key).front());
  HostTensor& y = trial.values[4];
  std::vector<DevicePointer> operands;
  for (HostTensor& value : trial.values) operands.push_back(value.bytes.data());
  for (std::int64_t own = 0; own < 4; ++own) {
    std::vector<std::int64_t> position;
    for (std::int64_t part = 0; part < 4; ++part)
      position.insert(position.end(), {0, 0, 0, (own + part) % 4 * 2});
    kernel->launch(operands, nullptr, position);
    for (std::int64_t part = 0; part < 4; ++part) {
      std::int64_t begin = (own + part) % 4 * 2;
      EXPECT_EQ(cut(y, Region{{{0, 3}, {begin, begin + 2}}}).bytes,
                trial.values[static_cast<std::size_t>(part)].bytes)
          << backend.name() << " part " << part << " of device " << own;
    }
  }
}

TEST(Position, TellsOneKernelWhereItPutsItsBoxes) {
  rotate_columns(*make_reference_backend());
  try {
    rotate_columns(*make_cpu_backend({.threads = 2}));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

TEST(Position, TheMaskOfADropoutIsThatOfItsNameAndItsElements) {
  // All dropouts of a shape share a kernel, but not their masks.
  TensorSpec x{{4, 64}, DType::f32};
  OpTrial one({"one", Dropout{.stream = 1}, {x}}, 5), two({"two", Dropout{.stream = 2}, {x}}, 5);
  Signature s = signature(one.op, one.inputs);
  EXPECT_EQ(localize(one.op, s, s.whole_tile()), localize(two.op, s, s.whole_tile()));
  auto reference = make_reference_backend();
  for (OpTrial* trial : {&one, &two}) trial->run(Phase::forward, *reference);
  EXPECT_NE(one.values[2].bytes, two.values[2].bytes);
}

/// Rows and columns of a dropout, computed by an operator that says where it begins.
void drop_part(const Backend& backend) {
  Region part{{{3, 7}, {2, 5}, {0, 8}}};
  Dropout whole{.rate = 0.4, .stream = 77}, chunk = whole;
  chunk.extents = {9, 6, 8}, chunk.begin = {3, 2, 0};
  OpTrial all({"whole", whole, {{{9, 6, 8}, DType::f32}}}, 5);
  OpTrial one({"chunk", chunk, {{part.shape(), DType::f32}}}, 5);
  one.values[0] = cut(all.values[0], part);
  for (OpTrial* trial : {&all, &one}) trial->run(Phase::forward, backend);
  EXPECT_EQ(one.values[2].bytes, cut(all.values[2], part).bytes) << backend.name();
  Signature s = signature(chunk, one.inputs);
  EXPECT_TRUE(std::get<Dropout>(localize(one.op, s, s.whole_tile())).begin.empty());
}

TEST(Position, AChunkOfADropoutDrawsTheBitsOfTheWhole) {
  drop_part(*make_reference_backend());
  try {
    drop_part(*make_cpu_backend({.threads = 2}));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

TEST(Position, ChunksOfARecurrentLayerShareAKernel) {
  Recurrent first{.hidden = 4, .has_state = true, .has_lengths = true, .sequence = 9};
  std::vector<TensorSpec> inputs{
      {{2, 3, 5}, DType::f32}, {{2, 4}, DType::f32}, {{2, 4}, DType::f32}, {{2}, DType::i32}};
  Recurrent last = first;
  last.begin = 6;
  Signature s = signature(last, inputs);
  EXPECT_EQ(localize(Op(first), s, s.whole_tile()), localize(Op(last), s, s.whole_tile()));
  EXPECT_EQ(position_of(last, s, s.whole_tile()), (std::vector<std::int64_t>{6, 0}));
}

TEST(Position, CausalAttentionKeepsItInTheKey) {
  // Later queries see more keys, so their tiles take longer.
  Attention causal{.heads = 2, .causal = true, .packed = true};
  Signature s = signature(causal, std::vector<TensorSpec>{{{2, 6, 24}, DType::f32}});
  Region first = s.whole_tile(), second = first;
  first.ranges[2] = {0, 3}, second.ranges[2] = {3, 6};
  EXPECT_NE(localize(Op(causal), s, first), localize(Op(causal), s, second));
  EXPECT_TRUE(position_of(causal, s, second).empty());
}

}  // namespace
}  // namespace troika
