// Forward batch norm, shard by shard. On one device a block of channels is summed, normalised and
// written in turn, while it is in a cache (ChannelBlocks); on several the phases are apart.
#include "kernels/cpu/batch_norm_shards.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// The fused operators: optionally the sum with a residual, then optionally relu.
struct Follower {
  bool adds = false, relu = false;
};

std::optional<Follower> follower_of(const KernelKey& key) {
  Follower found;
  if (key.fused.empty()) return found;
  if (key.phase != Phase::forward && key.phase != Phase::backward) return std::nullopt;
  for (const FusedOp& next : key.fused) {
    const Activation* activation = std::get_if<Activation>(&next.op);
    const Binary* binary = std::get_if<Binary>(&next.op);
    // A sum after the relu would be another function.
    if (found.relu) return std::nullopt;
    if (activation != nullptr && activation->kind == ActivationKind::relu)
      found.relu = true;
    else if (binary != nullptr && binary->kind == BinaryKind::add && !found.adds &&
             next.others[0] == key.inputs[0])
      found.adds = true;
    else
      return std::nullopt;
  }
  if (key.phase == Phase::backward && found.adds) return std::nullopt;
  return found;
}

/// Operands after x, gamma, beta and two numbers per channel, which always come first.
struct OperandIndices {
  std::size_t residual = 0, y, running_mean = 0, running_var = 0;

  OperandIndices(const Request& request, const Follower& follower) {
    std::size_t count = request.operands.size();
    // With fused operators, the result of the last one is the last operand.
    y = count - 1;
    if (follower.adds) residual = count - 2;
    for (std::size_t at = 5; at < count; ++at) {
      if (request.operands[at].name == "drunning_mean") running_mean = at;
      if (request.operands[at].name == "drunning_var") running_var = at;
      if (request.operands[at].name == "y") y = at;
    }
  }
};

/// y = scale * x + shift per channel, then the fused operators.
template <bool Adds, bool Relu>
struct Normalised {
  const float *x, *scale, *shift, *residual;

  float operator()(std::int64_t i, std::int64_t c) const {
    float value = scale[c] * x[i] + shift[c];
    if constexpr (Adds) value += residual[i];
    return Relu && value < 0 ? 0.0f : value;
  }
};

/// One shard of the operands whose shape is that of x.
template <bool Adds, bool Relu>
struct ShardOperands {
  Normalised<Adds, Relu> value;
  ChannelOutput y;

  ShardOperands(const Shards& s, const OperandIndices& at, const Launch& launch,
                const ShardWork& work, std::int64_t shard)
      : ShardOperands(s, launch.at(0) + shard * s.view.elements(),
                      Adds ? launch.at(at.residual) + shard * s.view.elements() : nullptr,
                      launch.at(at.y) + shard * s.view.elements(), work) {}

 private:
  ShardOperands(const Shards& s, const float* x, const float* residual, float* to,
                const ShardWork& work)
      : value{x, work.per_channel[0], work.per_channel[1], residual},
        // In place, the lines of the output are in a cache already, so it is not streamed.
        y(s.view, to, to == x || to == residual) {}
};

/// Sums are taken around the first element of each channel, so that a large mean does not cancel
/// the variance.
void set_pivots(const Shards& s, const float* x, float* pivot) {
  std::int64_t lanes = s.view.lanes, inner = s.view.inner;
  for (std::int64_t c = 0; c < s.channels(); ++c)
    pivot[c] = x[c / lanes * inner * lanes + c % lanes];
}

template <bool Adds, bool Relu>
Loop forward(const Shards& s, const OperandIndices& at) {
  return [s, at](const Launch& launch) {
    const float *gamma = launch.at(1), *beta = launch.at(2);
    Running running{launch.at(at.running_mean), launch.at(at.running_var)};
    running.clear(s.channels());
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      ShardWork work(s, launch);
      ShardOperands<Adds, Relu> operands(s, at, launch, work, shard);
      const float* x = operands.value.x;
      float *pivot = work.per_channel[2], *mean_out = launch.at(3) + shard * s.channels(),
            *inv_std_out = launch.at(4) + shard * s.channels();
      set_pivots(s, x, pivot);
      auto finish = [&](Range channels, const double* first, const double* second) {
        for (std::int64_t c = channels.begin; c < s.real(channels).end; ++c) {
          double sum = first[c - channels.begin], shifted = sum / s.count,
                 mean = pivot[c] + shifted;
          // Squares around the mean, from those around the pivot. Rounding must not make them
          // negative.
          double squares = std::max(second[c - channels.begin] - shifted * sum, 0.0),
                 scale = s.inv_std(squares / s.count);
          mean_out[c] = static_cast<float>(mean);
          inv_std_out[c] = static_cast<float>(scale);
          work.set_normalisation(c, mean, scale, gamma, beta);
          running.add(s, c, mean, squares);
        }
      };
      ChannelBlocks(s.view, launch.threads, work.sums)
          .run(
              [=](std::int64_t i, std::int64_t c) { return x[i] - pivot[c]; },
              [=](std::int64_t i, std::int64_t c) { return (x[i] - pivot[c]) * (x[i] - pivot[c]); },
              finish, operands.y, operands.value);
    }
  };
}

/// The running statistics are given, so there are no sums and no shards.
template <bool Adds, bool Relu>
Loop predict(const Shards& s, const OperandIndices& at) {
  return [s, at](const Launch& launch) {
    const float *mean = launch.at(3), *var = launch.at(4);
    ShardWork work(s, launch);
    for (std::int64_t c = 0; c < s.channels(); ++c)
      work.set_normalisation(c, mean[c], s.inv_std(var[c]), launch.at(1), launch.at(2));
    ShardOperands<Adds, Relu> operands(s, at, launch, work, 0);
    for_channels(launch.threads, s.view, operands.y, operands.value);
  };
}

template <bool Adds, bool Relu>
Loop forward_loop(const Shards& s, const BatchNorm& op, const OperandIndices& at) {
  return op.training ? forward<Adds, Relu>(s, at) : predict<Adds, Relu>(s, at);
}

// With tiles of a batch on several devices, sums travel between the phases below.

/// The sum of x in this tile.
Loop statistics_1(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float* x = launch.at(0) + shard * s.view.elements();
      ShardWork work(s, launch);
      channel_sums(
          s.view, launch.threads, work.sums, [x](std::int64_t i, std::int64_t) { return x[i]; },
          NoTerm());
      for (std::int64_t c = 0; c < s.channels(); ++c)
        launch.at(1)[shard * s.channels() + c] = static_cast<float>(work.first(c));
    }
  };
}

/// The squares around the mean of all tiles, whose sum is operand 1. This costs a second exchange
/// of sums; squares around 0 would cancel if the mean is large.
Loop statistics_2(const Shards& s) {
  return [s](const Launch& launch) {
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float* x = launch.at(0) + shard * s.view.elements();
      ShardWork work(s, launch);
      float* mean = work.per_channel[0];
      for (std::int64_t c = 0; c < s.channels(); ++c)
        mean[c] = static_cast<float>(launch.at(1)[shard * s.channels() + c] / s.count);
      channel_sums(
          s.view, launch.threads, work.sums,
          [=](std::int64_t i, std::int64_t c) { return (x[i] - mean[c]) * (x[i] - mean[c]); },
          NoTerm());
      for (std::int64_t c = 0; c < s.channels(); ++c)
        launch.at(2)[shard * s.channels() + c] = static_cast<float>(work.first(c));
    }
  };
}

/// Operands: x, gamma, beta, the two sums of all tiles, y, and the running statistics.
Loop staged_apply(const Shards& s) {
  return [s](const Launch& launch) {
    Running running{launch.at(6), launch.at(7)};
    running.clear(s.channels());
    for (std::int64_t shard = 0; shard < s.shards; ++shard) {
      const float *sum = launch.at(3) + shard * s.channels(),
                  *squares = launch.at(4) + shard * s.channels();
      ShardWork work(s, launch);
      for (std::int64_t c = 0; c < s.channels(); ++c) {
        double mean = sum[c] / s.count;
        work.set_normalisation(c, mean, s.inv_std(squares[c] / s.count), launch.at(1),
                               launch.at(2));
        running.add(s, c, mean, squares[c]);
      }
      std::int64_t at = shard * s.view.elements();
      const float *x = launch.at(0) + at, *scale = work.per_channel[0],
                  *shift = work.per_channel[1];
      for_channels(launch.threads, s.view,
                   {s.view, launch.at(5) + at, launch.at(5) == launch.at(0)},
                   [=](std::int64_t i, std::int64_t c) { return scale[c] * x[i] + shift[c]; });
    }
  };
}

Loop loop_of(const Shards& shards, const BatchNorm& op, const Request& request,
             const Follower& follower) {
  Phase phase = request.key.phase;
  if (phase == Phase::forward) {
    OperandIndices at(request, follower);
    if (follower.adds)
      return follower.relu ? forward_loop<true, true>(shards, op, at)
                           : forward_loop<true, false>(shards, op, at);
    return follower.relu ? forward_loop<false, true>(shards, op, at)
                         : forward_loop<false, false>(shards, op, at);
  }
  if (phase == Phase::statistics_1) return statistics_1(shards);
  if (phase == Phase::statistics_2) return statistics_2(shards);
  if (phase == Phase::apply) return staged_apply(shards);
  return batch_norm_backward(shards, phase, follower.relu);
}

/// y or dx may overwrite operands that are read element by element.
std::vector<InPlace> in_place(const Request& request) {
  std::vector<InPlace> pairs;
  auto is = [&](std::size_t at, Access access, std::initializer_list<std::string_view> names) {
    const Operand& operand = request.operands[at];
    return operand.access == access && std::ranges::find(names, operand.name) != names.end();
  };
  for (std::size_t write = 0; write < request.operands.size(); ++write) {
    if (!is(write, Access::write, {"y", "dx"})) continue;
    for (std::size_t read = 0; read < request.operands.size(); ++read)
      if (is(read, Access::read, {"x", "dy", "y", "b"}))
        pairs.push_back({static_cast<int>(write), static_cast<int>(read)});
  }
  return pairs;
}

}  // namespace

Offers offers(const BatchNorm& op, const Request& request) {
  std::optional<Follower> follower = follower_of(request.key);
  if (!follower) return {};
  const Shape& shape = request.shape(0);
  // Shards are fixed parts of the global batch, so that statistics do not depend on the number of
  // devices. In prediction the statistics are given.
  std::int64_t count = op.training ? op.shards : 1;
  Offers list;
  for (Layout layout : activation_layouts(shape)) {
    std::optional<ChannelView> view = channel_view(shape, layout, 1);
    if (!view) continue;
    Shards shards{part_of_positions(*view, count), count, op.epsilon, 0};
    shards.count = op.count > 0 ? static_cast<double>(op.count) : shards.held();
    Candidate candidate{.algorithm = "loop",
                        .scratch = ShardWork::bytes(shards, request.context.threads)};
    for (const Operand& operand : request.operands)
      candidate.layouts.push_back(operand.spec.shape == shape && shape.rank() == 4 ? layout
                                                                                   : Layout::plain);
    candidate.in_place = in_place(request);
    list.push_back(offer_loop(request, candidate, loop_of(shards, op, request, *follower)));
  }
  return list;
}

}  // namespace troika
