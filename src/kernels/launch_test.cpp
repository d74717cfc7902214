// Promises of the CPU backend about its kernels in addition to their values: launches do not
// allocate, and operands declared as in place may share memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/testing/counted_news.h"
#include "kernels/cpu/cpu.h"
#include "kernels/in_layout.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

class CpuLaunch : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = make_cpu_backend({.threads = 2});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Calls visit(trial, phase, candidate) for every kernel of every operator; inputs of later
  /// phases are computed.
  template <class Visit>
  void for_each_kernel(Visit&& visit) {
    for (const OpCase& row : op_cases()) for_each_kernel(row, visit);
  }
  template <class Visit>
  void for_each_kernel(const OpCase& row, Visit&& visit) {
    OpTrial trial(in_dtype(row, DType::f32), 5);
    for (const PhaseSpec& phase : trial.signature.phases) {
      for (const Candidate& candidate : backend_->candidates(trial.key(phase.phase)))
        visit(trial, phase, candidate);
      trial.run(phase.phase, *backend_);
    }
  }

  std::unique_ptr<Backend> backend_;
};

/// The operands of one phase in a candidate's layouts, and its kernel.
class Prepared {
 public:
  Prepared(OpTrial& trial, const PhaseSpec& phase, const Candidate& candidate,
           const Backend& backend)
      : position_(trial.position),
        scratch_(static_cast<std::size_t>(candidate.scratch.count) + 64),
        kernel_(backend.compile(trial.key(phase.phase), candidate)) {
    for (std::size_t at = 0; at < phase.uses.size(); ++at) {
      HostTensor& host = trial.tensor(phase.uses[at]);
      operands.push_back(held_.emplace_back(host.spec, candidate.layouts[at]).load(host.bytes));
      plain_sizes_.push_back(host.bytes.size());
      sizes_.push_back(static_cast<std::size_t>(
          stored_bytes(candidate.layouts[at], host.spec.shape, host.spec.dtype).count));
    }
  }
  void launch() {
    auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
    kernel_->launch(operands, scratch_.data() + (64 - address % 64), position_);
  }
  std::vector<std::byte> bytes(std::size_t operand) const {
    return {operands[operand], operands[operand] + sizes_[operand]};
  }

  /// The same elements, laid out anew: padding is zero.
  std::vector<std::byte> cleaned(std::size_t operand) {
    std::vector<std::byte> plain(plain_sizes_[operand]);
    held_[operand].store(plain);
    held_[operand].load(plain);
    return bytes(operand);
  }

  std::vector<DevicePointer> operands;

 private:
  std::vector<std::int64_t> position_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<InLayout> held_;
  std::vector<std::size_t> sizes_, plain_sizes_;
};

TEST_F(CpuLaunch, EveryCandidateCanBeCompiledAfterTheOthers) {
  KernelKey key{
      Conv2d{.out = 1, .kernel = {7, 7}}, {{{16, 16, 7, 7}, DType::f32}}, Phase::backward_data, {}};
  std::vector<std::unique_ptr<Kernel>> kept;
  for (int round = 0; round < 2; ++round)
    for (const Candidate& candidate : backend_->candidates(key))
      EXPECT_NO_THROW(kept.push_back(backend_->compile(key, candidate))) << candidate.algorithm;
}

TEST_F(CpuLaunch, AllocatesNothing) {
  for_each_kernel([&](OpTrial& trial, const PhaseSpec& phase, const Candidate& candidate) {
    Prepared prepared(trial, phase, candidate, *backend_);
    prepared.launch();
    std::int64_t before = counted_news.own;
    prepared.launch();
    EXPECT_EQ(counted_news.own - before, 0)
        << to_text(trial.key(phase.phase)) << " by " << candidate.algorithm;
  });
}

TEST_F(CpuLaunch, WorksInPlaceWhereItSaysSo) {
  int checked = 0;
  for_each_kernel([&](OpTrial& trial, const PhaseSpec& phase, const Candidate& candidate) {
    for (InPlace pair : candidate.in_place) {
      auto write = static_cast<std::size_t>(pair.write), read = static_cast<std::size_t>(pair.read);
      Prepared apart(trial, phase, candidate, *backend_),
          shared(trial, phase, candidate, *backend_);
      shared.operands[write] = shared.operands[read];
      apart.launch();
      shared.launch();
      EXPECT_EQ(apart.bytes(write), shared.bytes(write))
          << to_text(trial.key(phase.phase)) << " by " << candidate.algorithm;
      ++checked;
    }
  });
  EXPECT_GT(checked, 30);
}

/// A convolution reads full blocks of channels and relies on zeros after the last one.
TEST_F(CpuLaunch, LeavesPaddingZero) {
  TensorSpec image = f64({2, 5, 4, 3});
  std::vector<OpCase> cases{{"add", Binary{}, {image, image}},
                            {"sum", Sum{.count = 2}, {image, image}},
                            {"bias", Bias{.dim = 1}, {image}},
                            {"pool", Pool2d{.window = {2, 2}}, {image}},
                            {"batch_norm", BatchNorm{}, {image}}};
  for (std::size_t kind = 0; kind < enum_names(ActivationKind{}).size(); ++kind)
    cases.push_back({"activation", Activation{.kind = static_cast<ActivationKind>(kind)}, {image}});
  int checked = 0;
  auto check = [&](OpTrial& trial, const PhaseSpec& phase, Candidate candidate) {
    for (std::size_t at = 0; candidate.flat && at < candidate.layouts.size(); ++at)
      candidate.layouts[at] = Layout::blocked16;
    Prepared prepared(trial, phase, candidate, *backend_);
    prepared.launch();
    for (std::size_t at = 0; at < phase.uses.size(); ++at) {
      if (phase.uses[at].access == Access::read || candidate.layouts[at] != Layout::blocked16)
        continue;
      EXPECT_EQ(prepared.bytes(at), prepared.cleaned(at))
          << to_text(trial.key(phase.phase)) << " by " << candidate.algorithm;
      ++checked;
    }
  };
  for (const OpCase& row : cases) for_each_kernel(row, check);
  EXPECT_GT(checked, 15);
}

/// Checks every kernel between the plain layout and another, both ways, against computed offsets.
/// Returns the number of kernels.
int check_reorders(const Backend& backend, const TensorSpec& spec, Layout other) {
  HostTensor start(spec);
  for (std::int64_t i = 0; i < spec.shape.elements(); ++i) start.set(i, static_cast<double>(i));
  int kernels = 0;
  for (auto [from, to] : {std::pair{Layout::plain, other}, std::pair{other, Layout::plain}}) {
    KernelKey key{Reorder{from, to}, {spec}, Phase::forward, {}};
    auto size = static_cast<std::size_t>(stored_bytes(to, spec.shape, spec.dtype).count);
    for (const Candidate& candidate : backend.candidates(key)) {
      InLayout given(spec, from), wanted(spec, to), got(spec, to);
      std::vector<DevicePointer> operands{given.load(start.bytes), got.fill(std::byte{0xff})};
      std::vector<std::byte> scratch(static_cast<std::size_t>(candidate.scratch.count));
      backend.compile(key, candidate)->launch(operands, scratch.data(), {});
      EXPECT_EQ(std::memcmp(wanted.load(start.bytes), operands[1], size), 0)
          << to_text(key) << " by " << candidate.algorithm;
      ++kernels;
    }
  }
  return kernels;
}

TEST_F(CpuLaunch, ReordersBetweenAllLayouts) {
  for (int layout = 1; layout < static_cast<int>(kLayoutCount); ++layout) {
    auto other = static_cast<Layout>(layout);
    bool is_depthwise = other == Layout::group_g8 || other == Layout::group_g16;
    int kernels = 0;
    for (const Shape& shape :
         {Shape{20, 18, 3, 2}, Shape{20, 1, 3, 2}, Shape{20, 18}, Shape{3, 23, 19}})
      if (fits(other, shape) && (!is_depthwise || shape[1] == 1))
        kernels += check_reorders(*backend_, {shape, DType::f32}, other);
    EXPECT_GE(kernels, 2) << to_string(other);
  }
}

/// So that launches for different chunks of a layer need not pack the weight one by one.
TEST_F(CpuLaunch, WeightsOfRecurrentLayersMayBePackedBeforehand) {
  std::vector<KernelKey> keys;
  for (Phase phase : {Phase::forward, Phase::backward_data})
    keys.push_back({GateProjection{.hidden = 5}, {{{3, 2, 7}, DType::f32}}, phase, {}});
  for (Phase phase : {Phase::forward, Phase::backward})
    keys.push_back(
        {Recurrent{.hidden = 5, .projected = true}, {{{3, 2, 4, 5}, DType::f32}}, phase, {}});
  for (const KernelKey& key : keys) {
    std::set<Layout> layouts;
    for (const Candidate& candidate : backend_->candidates(key))
      layouts.insert(candidate.layouts.begin(), candidate.layouts.end());
    EXPECT_TRUE(std::ranges::any_of(layouts, [](Layout each) {
      return panels_of(each).has_value();
    })) << to_text(key);
  }
}

TEST_F(CpuLaunch, RefusesACandidateThatItDoesNotOffer) {
  KernelKey key{Linear{.out = 4}, {{{3, 5}, DType::f32}}, Phase::forward, {}};
  Candidate unknown{.algorithm = "magic", .layouts = {Layout::plain, Layout::plain, Layout::plain}};
  EXPECT_THROW(backend_->compile(key, unknown), Error);
}

}  // namespace
}  // namespace troika
