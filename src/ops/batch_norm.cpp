#include "ops/batch_norm.h"

#include <array>

#include "ops/require.h"

namespace troika {
namespace {

enum Slots {
  kX,
  kGamma,
  kBeta,
  kRunningMean,
  kRunningVar,
  kY,
  kMean,
  kInvStd,
  kSum,
  kSquares,
  kDySum,
  kDyXSum
};

void require_fit(const BatchNorm& op, std::span<const TensorSpec> inputs) {
  require_inputs("batch_norm", inputs, 1);
  const Shape& x = inputs[0].shape;
  require(x.rank() >= 2 && x.rank() <= 4, "batch_norm", "takes an input [n,c] to [n,c,h,w], not ",
          inputs[0]);
  require(!op.training || (op.shards > 0 && x[0] % op.shards == 0), "batch_norm", "cannot divide ",
          x[0], " samples into ", op.shards,
          " equal shards; choose a batch that is a multiple of the shards");
}

/// Axes n, c, h, w in the order of the dimensions. In training a tile without whole shards needs
/// the staged phases; with the running statistics any tile can be computed alone.
std::vector<Axis> axes_for(const BatchNorm& op, const Shape& x) {
  std::vector<Axis> axes{{"n", AxisKind::sample, x[0], op.training ? x[0] / op.shards : 1},
                         {"c", AxisKind::parameter, x[1]}};
  constexpr std::array<const char*, 2> kNames{"h", "w"};
  for (std::size_t dim = 2; dim < x.rank(); ++dim)
    axes.push_back({kNames[dim - 2], AxisKind::attribute, x[dim], op.training ? x[dim] : 1});
  return axes;
}

/// Adds the saved and partial statistics, one row per shard, and the phases. A tile that holds
/// whole shards runs `phases`; any other runs `staged`, where lowering combines each statistic over
/// the tiles of a shard before the next phase reads it.
void add_training(Signature& s, const BatchNorm& op, const TensorSpec& x) {
  TensorSpec per_shard{{op.shards, x.shape[1]}, x.dtype};
  // A shard is `whole` neighbouring samples, so sample n belongs to row n / whole.
  std::vector<DimMap> dims{divided(0, s.axes[0].whole), along(1)};
  for (const char* name : {"mean", "inv_std"})
    s.slots.push_back({Role::saved, name, per_shard, dims});
  for (const char* name : {"sum", "squares", "dy_sum", "dy_x_sum"})
    s.slots.push_back({Role::statistic, name, per_shard, dims});
  auto cost = [&](std::int64_t per_element) { return Flops{per_element * x.shape.elements()}; };
  // The statistics of the step are written as gradients of the running ones: like gradients they
  // are summed over tiles and micro-batches and then consumed by an update.
  std::vector<Use> written{write(kY), write_grad(kRunningMean), write_grad(kRunningVar)};
  std::vector<Use> gradients{write_grad(kX), write_grad(kGamma), write_grad(kBeta)};
  auto phase = [](Phase name, std::vector<Use> uses, const std::vector<Use>& more, Flops flops) {
    uses.insert(uses.end(), more.begin(), more.end());
    return PhaseSpec{name, uses, flops};
  };
  s.phases = {
      phase(Phase::forward, {read(kX), read(kGamma), read(kBeta), write(kMean), write(kInvStd)},
            written, cost(6)),
      phase(Phase::backward, {read(kX), read_grad(kY), read(kGamma), read(kMean), read(kInvStd)},
            gradients, cost(10))};
  // Two passes, first the sum and then the squares around the mean: the one-pass formula E[x^2] -
  // E[x]^2 loses precision if the mean is large.
  s.staged = {{Phase::statistics_1, {read(kX), write(kSum)}, cost(1)},
              {Phase::statistics_2, {read(kX), read(kSum), write(kSquares)}, cost(3)},
              phase(Phase::apply, {read(kX), read(kGamma), read(kBeta), read(kSum), read(kSquares)},
                    written, cost(2)),
              // The staged backward reads the sums again, because the staged forward does not write
              // mean and inv_std.
              {Phase::backward_statistics,
               {read(kX), read_grad(kY), read(kSum), read(kSquares), write(kDySum), write(kDyXSum)},
               cost(5)},
              phase(Phase::backward_apply,
                    {read(kX), read_grad(kY), read(kGamma), read(kSum), read(kSquares),
                     read(kDySum), read(kDyXSum)},
                    gradients, cost(10))};
}

}  // namespace

Signature signature(const BatchNorm& op, std::span<const TensorSpec> inputs) {
  require_fit(op, inputs);
  const TensorSpec& x = inputs[0];
  Signature s{.axes = axes_for(op, x.shape)};
  std::vector<DimMap> dims;
  for (std::size_t axis = 0; axis < x.shape.rank(); ++axis)
    dims.push_back(along(static_cast<int>(axis)));
  auto per_channel = [&](Role role, const char* name, Init::Kind start) {
    return Slot{.role = role,
                .name = name,
                .spec = {{x.shape[1]}, x.dtype},
                .dims = {along(1)},
                .init = {start, 0}};
  };
  s.slots = {{Role::input, "x", x, dims},
             per_channel(Role::weight, "gamma", Init::Kind::ones),
             per_channel(Role::weight, "beta", Init::Kind::zeros),
             per_channel(Role::state, "running_mean", Init::Kind::zeros),
             per_channel(Role::state, "running_var", Init::Kind::ones),
             {Role::output, "y", x, dims}};
  if (op.training)
    add_training(s, op, x);
  else
    s.phases = {
        {Phase::forward,
         {read(kX), read(kGamma), read(kBeta), read(kRunningMean), read(kRunningVar), write(kY)},
         {2 * x.shape.elements()}}};
  return s;
}

BatchNorm localize(const BatchNorm& op, const Signature& signature, const Region& tile) {
  BatchNorm local = op;
  if (!op.training) return local;
  std::int64_t shard = signature.axes[0].whole;
  Range samples = tile[0];
  // The rows of the statistics that the tile touches: the shards that it holds or lies in.
  local.shards = region_of(signature.slots[kMean], tile)[0].extent();
  bool holds_whole = samples.begin % shard == 0 && samples.end % shard == 0;
  require(holds_whole || local.shards == 1, "batch_norm", "with shards of ", shard,
          " samples cannot be cut to samples ", samples.begin, " to ", samples.end,
          "; a tile must hold whole shards or lie inside one");
  const Shape& x = signature.slots[kX].spec.shape;
  // The divisor is that of a whole shard even if the tile holds less: its sums are combined first.
  // A tile of a tile keeps the divisor.
  if (op.count == 0) local.count = shard * x.product(2, x.rank());
  return local;
}

}  // namespace troika
