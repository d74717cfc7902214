// Kernels that are wrong, not repeatable or write past their buffers are left out and named.
#include "profile/kernel_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"
#include "profile/measured_costs.h"
#include "profile/smaller_keys.h"

namespace troika {
namespace {

/// The reference under several names, each with a fault of its own.
class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(std::vector<std::string> algorithms)
      : algorithms_(std::move(algorithms)) {}

  class FaultyKernel final : public Kernel {
   public:
    FaultyKernel(std::unique_ptr<Kernel> truth, std::string fault, int* launches)
        : truth_(std::move(truth)), fault_(std::move(fault)), launches_(launches) {}

    void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
                std::span<const std::int64_t> position) override {
      ++*launches_;
      auto* y = reinterpret_cast<float*>(operands.back());
      float before = y[1];
      const std::vector<std::int64_t> origin(position.size());
      truth_->launch(operands, scratch, fault_ == "at the origin" ? origin : position);
      if (fault_ == "wrong") y[1] += 0.64f;
      // A small part of what lay there: within the tolerance, but not the same twice.
      if (fault_ == "flaky" && before == before) y[1] += 1e-13f * before;
      if (fault_ == "unwritten") y[1] = before;
      if (fault_ == "overrun") scratch[64] = std::byte{1};
    }

   private:
    std::unique_ptr<Kernel> truth_;
    std::string fault_;
    int* launches_;
  };

  std::string name() const override { return "faulty"; }
  std::vector<Candidate> candidates(const KernelKey& key) const override {
    std::vector<Candidate> list;
    for (const std::string& algorithm : algorithms_)
      list.push_back({.algorithm = algorithm,
                      .layouts = std::vector(operands_of(key).size(), Layout::plain),
                      .scratch = Bytes{64}});
    return list;
  }
  std::unique_ptr<Kernel> compile(const KernelKey& key, const Candidate& chosen) const override {
    return std::make_unique<FaultyKernel>(reference_->compile(key, chosen), chosen.algorithm,
                                          &launches[chosen.algorithm]);
  }

  mutable std::map<std::string, int> launches;

 private:
  std::vector<std::string> algorithms_;
  std::unique_ptr<Backend> reference_ = make_reference_backend();
};

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) names.push_back(candidate.algorithm);
  return names;
}

class KernelCheckTest : public testing::Test {
 protected:
  KernelCheckTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("troika-check-" + std::to_string(getpid()))) {}
  ~KernelCheckTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1, .library = "none"});
  KernelKey key_{Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
};

TEST_F(KernelCheckTest, FaultyKernelsAreLeftOutAndNamed) {
  FaultyBackend backend({"wrong", "flaky", "unwritten", "overrun", "right"});
  MeasuredCosts costs(*device_, backend, {});
  EXPECT_EQ(names_of(costs.answer(key_)), std::vector<std::string>{"right"});
  std::map<std::string, std::string> reasons;
  for (const LeftOutKernel& kernel : costs.left_out()) reasons[kernel.kernel] = kernel.reason;
  EXPECT_EQ(reasons.size(), 4u);
  EXPECT_NE(reasons["wrong plain plain plain"].find("off by"), std::string::npos);
  EXPECT_EQ(reasons["flaky plain plain plain"], "y is not repeatable");
  EXPECT_NE(reasons["unwritten plain plain plain"].find("off by"), std::string::npos);
  EXPECT_EQ(reasons["overrun plain plain plain"], "writes past its scratch");
  EXPECT_EQ(costs.left_out(key_).size(), 4u);
}

TEST_F(KernelCheckTest, AKernelThatIgnoresItsPositionIsLeftOut) {
  FaultyBackend backend({"at the origin", "right"});
  KernelCheck check(*device_, backend);
  TensorSpec tokens{{8}, DType::i32}, logits{{8, 6}, DType::f32}, weights{{8}, DType::f32};
  for (const KernelKey& key :
       {KernelKey{Dropout{.extents = {6, 9}}, {{{3, 9}, DType::f32}}, Phase::forward, {}},
        KernelKey{Embedding{.vocabulary = 6, .width = 3}, {tokens}, Phase::forward, {}},
        KernelKey{CrossEntropy{}, {logits, tokens, weights}, Phase::statistics_2, {}},
        KernelKey{Attention{.heads = 2, .packed = true, .queries = 2},
                  {{{2, 5, 12}, DType::f32}},
                  Phase::forward,
                  {}}})
    EXPECT_EQ(names_of(check.keep_right(key, backend.candidates(key))),
              std::vector<std::string>{"right"})
        << to_text(key);
}

TEST_F(KernelCheckTest, VerdictsAreKeptWithTheTimes) {
  FaultyBackend backend({"wrong", "right"});
  for (bool first : {true, false}) {
    backend.launches.clear();
    MeasuredCosts costs(*device_, backend, {.folder = folder_});
    EXPECT_EQ(names_of(costs.answer(key_)), std::vector<std::string>{"right"});
    EXPECT_EQ(costs.left_out().size(), 1u);
    EXPECT_EQ(backend.launches.empty(), !first);
    costs.finish();
  }
}

TEST_F(KernelCheckTest, KeysOfOneKindAreCheckedOnce) {
  FaultyBackend backend({"wrong", "right"});
  KernelCheck check(*device_, backend);
  for (std::int64_t rows : {256, 512, 1024}) {
    KernelKey key{Linear{.out = 128}, {{{rows, 320}, DType::f32}}, Phase::forward, {}};
    EXPECT_EQ(names_of(check.keep_right(key, backend.candidates(key))),
              std::vector<std::string>{"right"});
  }
  EXPECT_EQ(check.checked(), 2);
}

TEST_F(KernelCheckTest, WithoutAKernelThatAgreesThereIsAnError) {
  FaultyBackend backend({"wrong"});
  MeasuredCosts costs(*device_, backend, {});
  try {
    costs.answer(key_);
    FAIL() << "a wrong kernel was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("wrong plain plain plain"), std::string::npos);
    EXPECT_EQ(error.kind(), ErrorKind::numeric);
  }
}

TEST_F(KernelCheckTest, TheReferenceItselfIsNotChecked) {
  std::unique_ptr<Backend> reference = make_reference_backend();
  KernelCheck check(*device_, *reference);
  EXPECT_EQ(check.keep_right(key_, reference->candidates(key_)).size(), 1u);
  EXPECT_EQ(check.checked(), 0);
}

/// Every operator and phase of the parity table, and the fused chains that the CPU backend has: the
/// check must not reject a right kernel.
TEST_F(KernelCheckTest, NoRightKernelOfTheCpuBackendIsLeftOut) {
  std::unique_ptr<Backend> backend;
  try {
    backend = make_cpu_backend({.threads = 1});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  KernelCheck check(*device_, *backend);
  std::vector<KernelKey> keys;
  for (const OpCase& row : op_cases()) {
    OpCase in_f32 = in_dtype(row, DType::f32);
    Signature s = signature(in_f32.op, in_f32.inputs);
    for (const auto* phases : {&s.phases, &s.staged})
      for (const PhaseSpec& phase : *phases)
        if (!phase.view) keys.push_back({in_f32.op, in_f32.inputs, phase.phase, {}});
  }
  TensorSpec rows{{6, 24}, DType::f32}, image{{2, 16, 9, 9}, DType::f32}, sum{{6, 33}, DType::f32};
  Conv2d conv{.out = 21, .kernel = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}};
  keys.push_back({Linear{.out = 33}, {rows}, Phase::forward, {{Bias{}, {}}, {Binary{}, {sum}}}});
  keys.push_back({conv, {image}, Phase::forward, {{Bias{.dim = 1}, {}}, {Activation{}, {}}}});
  keys.push_back({BatchNorm{}, {image}, Phase::forward, {{Binary{}, {image}}, {Activation{}, {}}}});
  keys.push_back({BatchNorm{}, {image}, Phase::backward, {{Activation{}, {}}}});
  keys.push_back({Dropout{.rate = 0.4}, {rows}, Phase::forward, {{Binary{}, {rows}}}});
  for (Layout layout : {Layout::channels_last, Layout::blocked8, Layout::blocked16})
    for (Reorder op : {Reorder{Layout::plain, layout}, Reorder{layout, Layout::plain}})
      keys.push_back({op, {{{2, 19, 5, 7}, DType::f32}}, Phase::forward, {}});
  for (const KernelKey& key : keys) {
    std::vector<Candidate> candidates = backend->candidates(key);
    ASSERT_FALSE(candidates.empty()) << to_text(key);
    EXPECT_EQ(check.keep_right(key, candidates).size(), candidates.size()) << to_text(key);
  }
  for (const LeftOutKernel& kernel : failed_checks(check.checks()))
    ADD_FAILURE() << kernel.kernel << " for " << kernel.key << ": " << kernel.reason;
  EXPECT_GT(check.checked(), 200);
}

}  // namespace
}  // namespace troika
