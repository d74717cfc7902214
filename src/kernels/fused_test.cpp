// Fused kernels of the CPU backend in f32 against the chain of reference kernels in f64.
#include <gtest/gtest.h>

#include <utility>

#include "kernels/cpu/cpu.h"
#include "kernels/in_layout.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "kernels/tolerance.h"
#include "ops/step_scalars.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// One operand of the fused kernel, in f64: what it reads, or what it should write.
struct Expected {
  HostTensor value;
  Access access;
};

/// An operator and those fused to it, each with its own tensors in f64.
class FusedTrial {
 public:
  FusedTrial(const OpCase& leader, const std::vector<Op>& behind)
      : reference_(make_reference_backend()) {
    chain_.emplace_back(in_dtype(leader, DType::f64), 9);
    chain_[0].run(Phase::forward, *reference_);
    for (const Op& op : behind) add(op);
  }

  /// For the leader's tensors in f32.
  KernelKey key(Phase phase) const {
    KernelKey key{chain_[0].op, in_f32(chain_[0].inputs), phase, {}};
    for (std::size_t at = 1; at < chain_.size(); ++at) {
      std::vector<TensorSpec> others = in_f32(chain_[at].inputs);
      others.erase(others.begin());
      key.fused.push_back({chain_[at].op, others});
    }
    return key;
  }

  std::vector<std::int64_t> position() const {
    std::vector<std::int64_t> all;
    for (const OpTrial& op : chain_) all.insert(all.end(), op.position.begin(), op.position.end());
    return all;
  }

  std::vector<Expected> forward() {
    std::vector<Expected> list;
    for (std::size_t at = 0; at < chain_.size(); ++at) {
      for (const Use& use : chain_[at].signature.at(Phase::forward).uses) {
        bool passed_on = at + 1 < chain_.size() && !use.gradient && use.slot == output(at);
        bool taken = at > 0 && use.slot == 0;
        if (!passed_on && !taken) list.push_back({chain_[at].tensor(use), use.access});
      }
    }
    return list;
  }

  /// The first operator with one activation fused to it.
  std::vector<Expected> backward() {
    chain_[1].run(Phase::backward_data, *reference_);
    HostTensor dy = gradient(1, output(1));
    gradient(0, output(0)) = gradient(1, 0);
    chain_[0].run(Phase::backward, *reference_);
    std::vector<Expected> list;
    bool reads_all = true;
    for (const Use& use : chain_[0].signature.at(Phase::backward).uses) {
      if (use.access != Access::read && std::exchange(reads_all, false))
        list.push_back({chain_[1].values[static_cast<std::size_t>(output(1))], Access::read});
      bool is_dy = use.gradient && use.slot == output(0);
      list.push_back({is_dy ? dy : chain_[0].tensor(use), use.access});
    }
    return list;
  }

 private:
  void add(const Op& op) {
    std::size_t last = chain_.size() - 1;
    HostTensor y = chain_[last].values[static_cast<std::size_t>(output(last))];
    std::vector<TensorSpec> inputs(std::holds_alternative<Binary>(op) ? 2 : 1, y.spec);
    OpTrial& next = chain_.emplace_back(OpCase{"behind", op, inputs}, 13);
    next.values[0] = y;
    next.run(Phase::forward, *reference_);
  }
  static std::vector<TensorSpec> in_f32(std::vector<TensorSpec> specs) {
    for (TensorSpec& spec : specs) spec.dtype = DType::f32;
    return specs;
  }
  int output(std::size_t at) const { return chain_[at].signature.slots_of(Role::output)[0]; }
  HostTensor& gradient(std::size_t at, int slot) {
    return chain_[at].gradients[static_cast<std::size_t>(slot)];
  }

  std::unique_ptr<Backend> reference_;
  std::vector<OpTrial> chain_;
};

class Fused : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = make_cpu_backend({.threads = 2});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Each kernel within its tolerance, and within `at_most` where that is less. Returns how many
  /// kernels were compared.
  int check(const KernelKey& key, const std::vector<Expected>& expected, double at_most = 1) {
    std::vector<Candidate> candidates = backend_->candidates(key);
    EXPECT_FALSE(candidates.empty()) << to_text(key);
    for (const Candidate& candidate : candidates) {
      SCOPED_TRACE(to_text(key) + " by " + candidate.algorithm);
      double allowed = std::min(tolerance(key, candidate.algorithm), at_most);
      EXPECT_EQ(candidate.layouts.size(), expected.size());
      compare(key, candidate, expected, allowed, nullptr);
      for (const InPlace& pair : candidate.in_place)
        compare(key, candidate, expected, allowed, &pair);
    }
    return static_cast<int>(candidates.size());
  }

  /// With `shared`, the operand that it names is written over the one that it reads.
  void compare(const KernelKey& key, const Candidate& candidate,
               const std::vector<Expected>& expected, double allowed, const InPlace* shared) {
    std::vector<InLayout> held;
    std::vector<DevicePointer> operands;
    for (std::size_t at = 0; at < expected.size(); ++at) {
      HostTensor host = in_f32(expected[at].value);
      // Results must not depend on the previous contents.
      for (std::int64_t i = 0; expected[at].access == Access::write && i < elements(host); ++i)
        host.set(i, -77);
      operands.push_back(held.emplace_back(host.spec, candidate.layouts[at]).load(host.bytes));
    }
    auto index = [](int operand) { return static_cast<std::size_t>(operand); };
    if (shared != nullptr) operands[index(shared->write)] = operands[index(shared->read)];
    std::vector<std::byte> scratch(static_cast<std::size_t>(candidate.scratch.count) + 64);
    auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    backend_->compile(key, candidate)
        ->launch(operands, scratch.data() + (64 - address % 64), position_);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      if (expected[at].access == Access::read) continue;
      HostTensor written = in_f32(expected[at].value);
      std::size_t stored = static_cast<std::size_t>(
          stored_bytes(candidate.layouts[at], written.spec.shape, DType::f32).count);
      std::vector<std::byte> raw(operands[at], operands[at] + stored);
      bool is_shared = shared != nullptr && index(shared->write) == at;
      InLayout& there = is_shared ? held[index(shared->read)] : held[at];
      there.store(written.bytes);
      EXPECT_LT(distance(written, expected[at].value), allowed) << "operand " << at;
      there.load(written.bytes);  // stores the elements again, with zeros in the padding
      EXPECT_EQ(raw, std::vector<std::byte>(operands[at], operands[at] + stored)) << "padding";
    }
  }

  static HostTensor in_f32(const HostTensor& tensor) {
    bool stays = tensor.spec.shape == Shape{kScalarCount};  // the step's scalars are f64
    return stays ? tensor : converted(tensor, DType::f32);
  }
  static std::int64_t elements(const HostTensor& tensor) { return tensor.spec.shape.elements(); }

  std::unique_ptr<Backend> backend_;
  std::vector<std::int64_t> position_;  // of all launches
};

struct Layer {
  OpCase leader;
  Bias bias;
};

std::vector<Layer> layers() {
  auto same = [](std::int64_t out, std::int64_t window = 3) {
    std::int64_t pad = window / 2;
    return Conv2d{.out = out, .kernel = {window, window}, .pad = {pad, pad}, .pad_end = {pad, pad}};
  };
  return {{{"linear", Linear{.out = 33}, {f64({6, 24})}}, {}},
          {{"linear_rank_3", Linear{.out = 16}, {f64({2, 3, 20})}}, {.dim = 2}},
          {{"conv2d", same(32), {f64({2, 16, 9, 9})}}, {.dim = 1}},
          {{"conv2d_odd", same(21), {f64({2, 19, 7, 5})}}, {.dim = 1}},
          {{"conv2d_5x5", same(21, 5), {f64({2, 5, 17, 14})}}, {.dim = 1}}};
}

TEST_F(Fused, ABiasAndAnActivationBehindALayer) {
  for (const auto& [leader, bias] : layers()) {
    FusedTrial with_bias(leader, {bias});
    check(with_bias.key(Phase::forward), with_bias.forward());
    for (std::size_t kind = 0; kind < enum_names(ActivationKind{}).size(); ++kind) {
      FusedTrial both(leader, {bias, Activation{.kind = static_cast<ActivationKind>(kind)}});
      check(both.key(Phase::forward), both.forward());
    }
  }
}

TEST_F(Fused, AResidualSumBehindALinearLayer) {
  for (const auto& [leader, bias] : layers()) {
    if (!std::holds_alternative<Linear>(leader.op)) continue;
    for (const std::vector<Op>& behind :
         {std::vector<Op>{Binary{}}, std::vector<Op>{bias, Binary{}},
          std::vector<Op>{bias, Binary{}, Activation{}}}) {
      FusedTrial trial(leader, behind);
      check(trial.key(Phase::forward), trial.forward());
    }
  }
}

TEST_F(Fused, AResidualSumBehindDropout) {
  FusedTrial trial({"dropout", Dropout{.rate = 0.4, .stream = 7}, {f64({9, 1030})}}, {Binary{}});
  position_ = trial.position();
  check(trial.key(Phase::forward), trial.forward(), 1e-6);
}

/// A block of channels that one thread takes, one that all share, and channels that leave a rest.
std::vector<OpCase> norms() {
  return {{"batch_norm", BatchNorm{}, {f64({3, 37, 9, 9})}},
          {"batch_norm_shards", BatchNorm{.shards = 2}, {f64({4, 32, 6, 7})}},
          {"batch_norm_one_block", BatchNorm{}, {f64({3, 16, 14, 14})}},
          {"batch_norm_rows", BatchNorm{}, {f64({24, 20})}}};
}

TEST_F(Fused, AResidualSumAndReluBehindABatchNorm) {
  for (OpCase leader : norms()) {
    for (bool training : {true, false}) {
      std::get<BatchNorm>(leader.op).training = training;
      for (const std::vector<Op>& behind :
           {std::vector<Op>{Activation{}}, std::vector<Op>{Binary{}},
            std::vector<Op>{Binary{}, Activation{}}}) {
        FusedTrial trial(leader, behind);
        check(trial.key(Phase::forward), trial.forward());
      }
    }
  }
}

TEST_F(Fused, TheGradientOfReluBehindABatchNorm) {
  for (const OpCase& leader : norms()) {
    FusedTrial trial(leader, {Activation{}});
    check(trial.key(Phase::backward), trial.backward());
  }
}

TEST_F(Fused, ChainsThatNoKernelHasAreDeclined) {
  KernelKey key{
      Linear{.out = 4}, {{{3, 5}, DType::f32}}, Phase::forward, {{Activation{}, {}}, {Bias{}, {}}}};
  EXPECT_TRUE(backend_->candidates(key).empty());
  key = {Softmax{}, {{{3, 5}, DType::f32}}, Phase::forward, {{Activation{}, {}}}};
  EXPECT_TRUE(backend_->candidates(key).empty());
  key = {Dropout{}, {{{3, 5}, DType::f32}}, Phase::forward, {{Activation{}, {}}}};
  EXPECT_TRUE(backend_->candidates(key).empty());
  // The summand must have the shape of the output; a row would have to be stretched.
  FusedOp row{Binary{}, {{{1, 5}, DType::f32}}};
  key = {Dropout{}, {{{3, 5}, DType::f32}}, Phase::forward, {row}};
  EXPECT_TRUE(backend_->candidates(key).empty());
  key = {Linear{.out = 5}, {{{3, 4}, DType::f32}}, Phase::forward, {row}};
  EXPECT_TRUE(backend_->candidates(key).empty());
  Activation gelu{.kind = ActivationKind::gelu};
  for (Phase phase : {Phase::forward, Phase::backward}) {
    key = {BatchNorm{}, {{{6, 5}, DType::f32}}, phase, {{gelu, {}}}};
    EXPECT_TRUE(backend_->candidates(key).empty());
  }
  key = {BatchNorm{}, {{{6, 5}, DType::f32}}, Phase::apply, {{Activation{}, {}}}};
  EXPECT_TRUE(backend_->candidates(key).empty());
}

}  // namespace
}  // namespace troika
