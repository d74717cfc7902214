// Memory-bound kernels at the sizes of the bench models: billions of bytes per second, with each
// operand counted once and caches cold as in a training step. "copy" is the limit of the machine.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/cpu/host_memory.h"
#include "kernels/cpu/cpu.h"
#include "kernels/kernel.h"
#include "ops/op.h"

namespace troika {
namespace {

struct Row {
  std::string name;
  Op op;
  std::vector<TensorSpec> inputs;
  Layout layout = Layout::plain;  ///< Of the first operand.
  std::vector<FusedOp> fused = {};
};

TensorSpec f32(const Shape& shape) { return {shape, DType::f32}; }
TensorSpec i32(const Shape& shape) { return {shape, DType::i32}; }

/// Memory like that of a device.
class HostBlock {
 public:
  explicit HostBlock(Bytes bytes) : bytes_(bytes), address_(host_block(bytes)) {
    if (address_ == nullptr) throw std::bad_alloc();
  }
  HostBlock(HostBlock&& other) noexcept
      : bytes_(other.bytes_), address_(std::exchange(other.address_, nullptr)) {}
  ~HostBlock() {
    if (address_ != nullptr) release_host_block(address_, bytes_);
  }
  std::byte* get() const { return address_; }

 private:
  Bytes bytes_;
  std::byte* address_;
};

/// Operands of one launch; the values do not matter, but are not all alike.
class Operands {
 public:
  Operands(const KernelKey& key, const Candidate& candidate) {
    std::vector<Operand> list = operands_of(key);
    for (std::size_t at = 0; at < list.size(); ++at) {
      const TensorSpec& spec = list[at].spec;
      Bytes bytes = stored_bytes(candidate.layouts[at], spec.shape, spec.dtype);
      pointers.push_back(reserve(bytes));
      if (spec.dtype == DType::i32)
        fill<std::int32_t>(bytes, 997);
      else if (spec.dtype == DType::f64)
        std::fill_n(reinterpret_cast<double*>(pointers.back()), bytes.count / 8, 1.0);
      else
        fill<float>(bytes, 17);
    }
    scratch = reserve(candidate.scratch);
  }

  std::vector<DevicePointer> pointers;
  DevicePointer scratch = nullptr;

 private:
  template <class T>
  void fill(Bytes bytes, std::int64_t period) {
    T* values = reinterpret_cast<T*>(pointers.back());
    for (std::int64_t i = 0; i < bytes.count / 4; ++i) values[i] = static_cast<T>(i * 7 % period);
  }
  DevicePointer reserve(Bytes bytes) { return held_.emplace_back(bytes).get(); }

  std::vector<HostBlock> held_;
};

void run(benchmark::State& state, const Backend& backend, const KernelKey& key,
         const Candidate& candidate) {
  constexpr std::int64_t kFarMoreThanAnyCache = 160 << 20;
  std::int64_t bytes = bytes_of(key).count;
  std::vector<Operands> sets;
  for (std::int64_t held = 0; sets.size() < 2 || held < kFarMoreThanAnyCache; held += bytes)
    sets.emplace_back(key, candidate);
  std::unique_ptr<Kernel> kernel = backend.compile(key, candidate);
  const std::vector<std::int64_t> position(position_count(key));
  std::size_t at = 0;
  for (auto _ : state) {
    kernel->launch(sets[at].pointers, sets[at].scratch, position);
    at = (at + 1) % sets.size();
  }
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(bytes) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

std::vector<Row> image_rows() {
  std::vector<Row> rows;
  auto image = [](std::int64_t c, std::int64_t side) { return f32({8, c, side, side}); };
  Activation relu{};
  for (Layout layout : {Layout::blocked16, Layout::channels_last, Layout::plain}) {
    for (auto [c, side] : {std::pair{64, 112}, {256, 56}, {512, 28}, {1024, 14}, {512, 7}}) {
      rows.push_back({"batch_norm", BatchNorm{}, {image(c, side)}, layout});
      rows.push_back({"batch_norm_relu", BatchNorm{}, {image(c, side)}, layout, {{relu, {}}}});
      rows.push_back({"batch_norm_add_relu",
                      BatchNorm{},
                      {image(c, side)},
                      layout,
                      {{Binary{}, {image(c, side)}}, {relu, {}}}});
    }
    Pool2d three{.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .pad_end = {1, 1}};
    Pool2d two{.window = {2, 2}, .stride = {2, 2}}, same = three;
    same.kind = PoolKind::average, same.stride = {1, 1};
    rows.push_back({"pool_3x3s2", three, {image(64, 112)}, layout});
    rows.push_back({"pool_2x2", two, {image(64, 224)}, layout});
    rows.push_back({"pool_2x2_small", two, {f32({64, 16, 10, 10})}, layout});
    rows.push_back({"pool_average", same, {image(288, 35)}, layout});
    rows.push_back(
        {"global_pool", GlobalPool{.kind = PoolKind::average}, {image(2048, 8)}, layout});
    rows.push_back(
        {"concat", Concat{.dim = 1}, {image(64, 35), image(96, 35), image(96, 35)}, layout});
    rows.push_back({"bias", Bias{.dim = 1}, {image(64, 112)}, layout});
  }
  auto reorder = [&](Layout from, Layout to, const Shape& shape) {
    rows.push_back(
        {"reorder_to_" + std::string(to_string(to)), Reorder{from, to}, {f32(shape)}, from});
  };
  reorder(Layout::blocked16, Layout::channels_last, {8, 192, 35, 35});
  reorder(Layout::channels_last, Layout::blocked16, {8, 192, 35, 35});
  reorder(Layout::blocked16, Layout::plain, {8, 192, 35, 35});
  reorder(Layout::plain, Layout::blocked16, {8, 192, 35, 35});
  reorder(Layout::weight_io16, Layout::weight_oi16, {512, 512, 3, 3});
  reorder(Layout::weight_io16, Layout::weight_oi16, {1024, 512, 1, 1});
  reorder(Layout::transposed, Layout::plain, {1000, 2048});
  return rows;
}

std::vector<Row> row_rows() {
  TensorSpec wide = f32({1024, 3072}), text = f32({1024, 768});
  return {{"copy", Sum{.count = 2}, {f32({1 << 23}), f32({1 << 23})}},
          {"gelu_tanh", Activation{.kind = ActivationKind::gelu_tanh}, {wide}},
          {"gelu", Activation{.kind = ActivationKind::gelu}, {wide}},
          {"tanh", Activation{.kind = ActivationKind::tanh}, {wide}},
          {"relu", Activation{}, {wide}},
          {"layer_norm", LayerNorm{}, {text}},
          {"dropout", Dropout{.rate = 0.1}, {wide}},
          {"bias_rows", Bias{.dim = 1}, {wide}},
          {"embedding", Embedding{.vocabulary = 50304, .width = 768}, {i32({1, 1024})}},
          {"embedding_small", Embedding{.vocabulary = 10000, .width = 650}, {i32({20, 35})}},
          {"cross_entropy", CrossEntropy{}, {f32({1024, 50304}), i32({1024}), f32({1024})}},
          {"cross_entropy_small", CrossEntropy{}, {f32({700, 10000}), i32({700}), f32({700})}},
          {"sgd", Sgd{.momentum = 0.9}, {f32({1000, 2048})}}};
}

void register_row(const Backend& backend, const Row& row) {
  for (const PhaseSpec& phase : signature(row.op, row.inputs).phases) {
    if (phase.view) continue;
    KernelKey key{row.op, row.inputs, phase.phase, row.fused};
    for (const Candidate& candidate : backend.candidates(key)) {
      if (candidate.layouts[0] != row.layout && !candidate.flat) continue;
      std::string name = row.name + "/" + to_string(row.inputs[0].shape) + "/" +
                         std::string(to_string(row.layout)) + "/" +
                         std::string(to_string(phase.phase)) + "/" + candidate.algorithm;
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&backend, key, candidate](benchmark::State& state) {
                                     run(state, backend, key, candidate);
                                   })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace troika

/// The number of threads may be given behind the benchmark's own options.
int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  auto threads = count > 1 ? std::stoi(arguments[1])
                           : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto backend = troika::make_cpu_backend({.threads = threads});
  for (const auto& rows : {troika::row_rows(), troika::image_rows()})
    for (const troika::Row& row : rows) troika::register_row(*backend, row);
  benchmark::RunSpecifiedBenchmarks();
}
