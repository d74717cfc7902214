// The parity table: every operator, every phase and every candidate of the CPU backend in f32
// against the reference kernels in f64 on the same inputs.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "kernels/cpu/cpu.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "kernels/tolerance.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

std::unique_ptr<Backend> backend_or_null(int threads) {
  try {
    return make_cpu_backend({.threads = threads});
  } catch (const Error&) {
    return nullptr;
  }
}

/// A flat candidate stands for itself in every layout that its operands can share.
std::vector<Candidate> in_every_layout(const KernelKey& key, const Candidate& candidate) {
  if (!candidate.flat) return {candidate};
  std::vector<Operand> operands = operands_of(key);
  std::vector<Candidate> list;
  for (int layout = 0; layout < static_cast<int>(kLayoutCount); ++layout) {
    if (!fits(static_cast<Layout>(layout), operands[0].spec.shape)) continue;
    Candidate& chosen = list.emplace_back(candidate);
    for (std::size_t at = 0; at < operands.size(); ++at) {
      if (operands[at].spec.shape == operands[0].spec.shape)
        chosen.layouts[at] = static_cast<Layout>(layout);
    }
  }
  return list;
}

class Parity {
 public:
  explicit Parity(const Backend& backend) : backend_(backend), truth_(make_reference_backend()) {}

  void check(const OpCase& row) {
    OpTrial truth(in_dtype(row, DType::f64), 11), trial(in_dtype(row, DType::f32), 11);
    take_values(truth, trial);
    for (const auto* phases : {&truth.signature.phases, &truth.signature.staged}) {
      for (const PhaseSpec& phase : *phases) {
        if (!phase.view)
          check_phase(truth, trial, phase);
        else
          truth.run(phase.phase, *truth_);
        take_values(truth, trial);
      }
    }
  }

  const std::set<std::string>& served_by_reference() const { return served_by_reference_; }
  int checked() const { return checked_; }

 private:
  /// Rounds the truth to f32 and gives both the same inputs.
  static void take_values(OpTrial& truth, OpTrial& trial) {
    auto take = [](std::vector<HostTensor>& from, std::vector<HostTensor>& to) {
      for (std::size_t at = 0; at < from.size(); ++at) {
        to[at] = from[at].spec == to[at].spec ? from[at] : converted(from[at], to[at].spec.dtype);
        if (from[at].spec.dtype != to[at].spec.dtype)
          from[at] = converted(to[at], from[at].spec.dtype);
      }
    };
    take(truth.values, trial.values);
    take(truth.gradients, trial.gradients);
  }

  void check_phase(OpTrial& truth, const OpTrial& start, const PhaseSpec& phase) {
    std::vector<Candidate> candidates = backend_.candidates(start.key(phase.phase));
    EXPECT_FALSE(candidates.empty()) << "no kernel for " << to_text(start.key(phase.phase));
    truth.run(phase.phase, *truth_);
    for (const Candidate& candidate : candidates) {
      if (candidate.algorithm == "reference")
        served_by_reference_.insert(std::string(name_of(start.op)));
      for (const Candidate& chosen : in_every_layout(start.key(phase.phase), candidate))
        check_candidate(truth, start, phase, chosen);
    }
  }

  void check_candidate(OpTrial& truth, const OpTrial& start, const PhaseSpec& phase,
                       const Candidate& candidate) {
    OpTrial trial = start, again = start;
    poison(trial, phase);
    trial.run(phase.phase, backend_, candidate);
    compare(truth, trial, phase, candidate, rounding(truth, start, phase));
    again.run(phase.phase, backend_, candidate);
    for (const Use& use : phase.uses)
      EXPECT_EQ(trial.tensor(use).bytes, again.tensor(use).bytes)
          << describe(start, phase, candidate) << " is not repeatable";
    ++checked_;
  }

  /// Results of a phase must not depend on the previous contents.
  static void poison(OpTrial& trial, const PhaseSpec& phase) {
    for (const Use& use : phase.uses) {
      HostTensor& tensor = trial.tensor(use);
      for (std::int64_t i = 0; use.access == Access::write && i < tensor.spec.shape.elements(); ++i)
        tensor.set(i, -77);
    }
  }

  /// Steps of a recurrent layer feed on each other's rounding, a plain one's without bound: what
  /// the reference loops lose in f32 says by how much.
  double rounding(OpTrial& truth, const OpTrial& start, const PhaseSpec& phase) const {
    if (!std::holds_alternative<Recurrent>(start.op)) return 0;
    OpTrial plain = start;
    plain.run(phase.phase, *truth_);
    double most = 0;
    for (const Use& use : phase.uses)
      if (use.access != Access::read)
        most = std::max(most, distance(plain.tensor(use), truth.tensor(use)));
    return 4 * most;
  }

  static void compare(OpTrial& truth, OpTrial& trial, const PhaseSpec& phase,
                      const Candidate& candidate, double rounding) {
    for (const Use& use : phase.uses) {
      if (use.access == Access::read) continue;
      EXPECT_LT(distance(trial.tensor(use), truth.tensor(use)),
                tolerance(trial.key(phase.phase), candidate.algorithm) + rounding)
          << describe(trial, phase, candidate) << (use.gradient ? " d" : " ")
          << trial.signature.slots[static_cast<std::size_t>(use.slot)].name;
    }
  }

  static std::string describe(const OpTrial& trial, const PhaseSpec& phase,
                              const Candidate& candidate) {
    std::string text =
        trial.name + ": " + to_text(trial.key(phase.phase)) + " by " + candidate.algorithm;
    for (Layout layout : candidate.layouts) text += " " + std::string(to_string(layout));
    return text;
  }

  const Backend& backend_;
  std::unique_ptr<Backend> truth_;
  std::set<std::string> served_by_reference_;
  int checked_ = 0;
};

/// Sizes at which blocks, lanes and threads of the CPU kernels do not come out even.
std::vector<OpCase> larger_cases() {
  std::vector<OpCase> cases{
      {"attention_blocks",
       Attention{.heads = 2},
       {f64({2, 130, 34}), f64({2, 70, 34}), f64({2, 70, 34})}},
      {"attention_causal_blocks",
       Attention{.heads = 3, .causal = true, .packed = true},
       {f64({2, 70, 144})}},
      {"attention_packed_tile_blocks",
       Attention{.heads = 2,
                 .causal = true,
                 .packed = true,
                 .has_mask = true,
                 .first_query = 61,
                 .queries = 72},
       {f64({2, 140, 30}), f64({2, 140})},
       {Fill::normal, Fill::mask}},
  };
  for (RecurrentKind kind : {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn}) {
    Recurrent op{.kind = kind, .hidden = 33};
    cases.push_back({"recurrent_steps", op, {f64({5, 7, 19})}});
    op.reverse = op.has_lengths = true;
    cases.push_back({"recurrent_reverse_steps",
                     op,
                     {f64({5, 7, 19}), i32({5})},
                     {Fill::normal, Fill::lengths}});
    Recurrent chunk{
        .kind = kind, .hidden = 65, .has_state = true, .has_lengths = true, .projected = true};
    chunk.begin = 4, chunk.sequence = 12;
    Recurrent tile = chunk;
    tile.begin = 3, tile.sequence = 6, tile.units = 33;
    for (const auto& [name, part, steps] :
         {std::tuple{"recurrent_chunk", chunk, 5}, std::tuple{"recurrent_step", chunk, 1},
          std::tuple{"recurrent_tile", tile, 1}}) {
      std::int64_t units = units_of(part);
      OpCase row{name, part, {f64({7, steps, gates_of(kind), units}), f64({7, 65})}};
      if (kind == RecurrentKind::lstm) row.inputs.push_back(f64({7, units}));
      row.inputs.push_back(i32({7}));
      row.position = {part.begin, 65 - units};
      cases.push_back(row);
    }
    cases.push_back({"gates", GateProjection{.kind = kind, .hidden = 33}, {f64({5, 7, 19})}});
  }
  cases.push_back({"gates_deep", GateProjection{.hidden = 150}, {f64({7, 1, 530})}});
  return cases;
}

/// Products whose rows, columns and depth fill several blocks, leave a rest, or are 1.
std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases;
  auto add = [&](std::int64_t rows, std::int64_t outputs, std::int64_t depth) {
    cases.push_back({"product", Linear{.out = outputs}, {f64({rows, depth})}});
  };
  add(1, 1, 1), add(1, 50, 70), add(33, 1, 65), add(7, 19, 1), add(1, 9, 1100);
  add(13, 700, 1100), add(97, 49, 515), add(9, 1030, 21), add(256, 64, 48);
  for (bool turn_a : {false, true})
    for (bool turn_b : {false, true})
      for (std::int64_t batches : {1, 5})
        cases.push_back({"product_batches",
                         Matmul{.transpose_a = turn_a, .transpose_b = turn_b},
                         {turn_a ? f64({batches, 530, 19}) : f64({batches, 19, 530}),
                          turn_b ? f64({batches, 37, 530}) : f64({batches, 530, 37})}});
  return cases;
}

/// Convolutions whose tiles, windows and channels do not come out even.
std::vector<OpCase> convolution_cases() {
  std::vector<OpCase> cases;
  auto add = [&](const char* name, const Shape& image, const Conv2d& op) {
    cases.push_back({name, op, {{image, DType::f64}}});
  };
  auto square = [](std::int64_t out, std::int64_t side, std::int64_t pad) {
    return Conv2d{.out = out, .kernel = {side, side}, .pad = {pad, pad}, .pad_end = {pad, pad}};
  };
  for (std::int64_t pad : {0, 1, 2}) add("conv_odd", {2, 19, 13, 11}, square(21, 3, pad));
  add("conv_one_element", {1, 17, 1, 1}, square(17, 3, 1));
  add("conv_five_by_seven", {2, 17, 5, 7}, square(40, 3, 1));
  add("conv_many_channels", {1, 130, 6, 5}, square(70, 3, 1));
  add("conv_uneven_padding", {1, 16, 9, 8},
      {.out = 16, .kernel = {3, 3}, .pad = {2, 0}, .pad_end = {0, 1}});
  add("conv_1x1", {2, 19, 9, 7}, square(21, 1, 0));
  add("conv_5x5", {2, 19, 13, 11}, square(21, 5, 2));
  add("conv_5x5_one_sample", {1, 33, 27, 27}, square(48, 5, 2));
  add("conv_7x7_places", {2, 5, 31, 18}, square(17, 7, 3));
  add("conv_11x11_uneven", {1, 18, 20, 33},
      {.out = 16, .kernel = {11, 9}, .pad = {5, 0}, .pad_end = {2, 8}});
  add("conv_17x17", {1, 16, 19, 21}, square(3, 17, 8));
  add("conv_7x7", {1, 3, 23, 19},
      {.out = 24, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}, .pad_end = {3, 3}});
  add("conv_11x11", {1, 3, 35, 31}, {.out = 20, .kernel = {11, 11}, .stride = {4, 4}});
  add("conv_strided_odd", {2, 19, 12, 11},
      {.out = 21, .kernel = {3, 3}, .stride = {2, 1}, .pad = {1, 1}, .pad_end = {1, 1}});
  add("conv_dilated_odd", {2, 19, 13, 11},
      {.out = 21, .kernel = {3, 3}, .pad = {2, 3}, .pad_end = {2, 3}, .dilation = {2, 3}});
  add("conv_grouped_odd", {2, 18, 7, 9},
      {.out = 30, .kernel = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}, .groups = 3});
  return cases;
}

/// Channels that fill vectors, and some that leave a rest.
std::vector<OpCase> channel_cases() {
  auto image = [](std::int64_t channels, std::int64_t side) {
    return std::vector{f64({3, channels, side, side})};
  };
  std::array<std::int64_t, 2> three{3, 3}, one{1, 1}, two{2, 2};
  Conv2d same{.out = 32, .kernel = three, .pad = one, .pad_end = one};
  Conv2d strided{.out = 48, .kernel = three, .stride = two, .pad = one, .pad_end = one},
      grouped = same, depthwise = same;
  grouped.groups = 2, depthwise.groups = 32;
  Conv2d dilated{.out = 16, .kernel = three, .pad = two, .pad_end = two, .dilation = two};
  return {{"conv_same", same, image(64, 12)},
          {"conv_rest", same, image(20, 9)},
          {"conv_image", strided, image(3, 17)},
          {"conv_strided", strided, image(16, 11)},
          {"conv_grouped", grouped, image(32, 8)},
          {"conv_depthwise", depthwise, image(32, 10)},
          {"conv_dilated", dilated, image(16, 12)},
          {"conv_one", Conv2d{.out = 64, .kernel = one}, image(32, 7)},
          {"conv_transpose",
           ConvTranspose2d{.out = 16, .kernel = {4, 4}, .stride = two, .pad = one, .pad_end = one},
           image(32, 6)},
          {"pool_max", Pool2d{.window = three, .stride = two, .pad = one, .pad_end = one},
           image(21, 13)},
          {"pool_average", Pool2d{.kind = PoolKind::average, .window = two, .stride = two},
           image(40, 8)},
          {"global_pool", GlobalPool{}, image(19, 8)},
          {"batch_norm", BatchNorm{.shards = 3}, image(37, 9)},
          {"bias", Bias{.dim = 1}, image(35, 11)},
          {"concat", Concat{.dim = 1}, {f64({2, 16, 5, 5}), f64({2, 32, 5, 5})}},
          {"linear", Linear{.out = 70}, {f64({33, 129})}},
          {"matmul", Matmul{.transpose_b = true}, {f64({3, 33, 65}), f64({3, 18, 65})}},
          {"layer_norm", LayerNorm{}, {f64({40, 300})}},
          {"cross_entropy",
           CrossEntropy{},
           {f64({20, 1500}), i32({20}), f64({20})},
           {Fill::normal, Fill::normal, Fill::mask}},
          {"square_sum", SquareSum{}, {f64({100, 130})}}};
}

TEST(CpuParity, EveryCandidateAgreesWithTheReferenceInF64) {
  auto backend = backend_or_null(2);
  if (!backend) GTEST_SKIP() << "built without oneDNN";
  Parity parity(*backend);
  for (const OpCase& row : op_cases()) parity.check(row);
  for (const OpCase& row : larger_cases()) parity.check(row);
  for (const OpCase& row : channel_cases()) parity.check(row);
  for (const OpCase& row : product_cases()) parity.check(row);
  for (const OpCase& row : convolution_cases()) parity.check(row);
  EXPECT_GT(parity.checked(), 700);
  for (const std::string& name : parity.served_by_reference())
    std::printf("served by the reference loops: %s\n", name.c_str());
  EXPECT_LE(parity.served_by_reference().size(), 3u);
}

}  // namespace
}  // namespace troika
