// A recurrent layer cut into chunks over time, each on the projected input and the state of the
// chunk before it, computes what the whole layer computes.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/reference/reference.h"
#include "kernels/tile_parts_test.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

constexpr std::int64_t kSamples = 6, kInputs = 3, kHidden = 4, kSteps = 9;

OpCase whole_case(const Recurrent& op) {
  OpCase row{"whole", op, {f64({kSamples, kSteps, kInputs})}};
  if (op.has_state) row.inputs.push_back(f64({kSamples, kHidden}));
  if (op.has_state && op.kind == RecurrentKind::lstm)
    row.inputs.push_back(f64({kSamples, kHidden}));
  if (op.has_lengths) row.inputs.push_back(i32({kSamples}));
  return row;
}

void add(HostTensor& sum, const HostTensor& term) {
  put(sum, Region::whole(sum.spec.shape), term, Combine::sum);
}

/// The chunks of a whole layer, forward and backward.
class Chunks {
 public:
  Chunks(OpTrial& whole, const std::vector<Range>& steps)
      : whole_(whole),
        op_(std::get<Recurrent>(whole.op)),
        at_(op_),
        projection_(
            {"projection", GateProjection{op_.kind, kHidden}, {f64({kSamples, kSteps, kInputs})}},
            1) {
    projection_.values[0] = whole.values[slot(at_.x)];
    projection_.values[1] = whole.values[slot(at_.w_ih)];
    projection_.run(Phase::forward, *backend_);
    order_ = steps;
    if (op_.reverse) std::ranges::reverse(order_);
    for (const Range& part : order_) add_chunk(part);
  }

  void run_backward() {
    for (HostTensor& gradient : projection_.gradients) clear(gradient);
    for (std::size_t at = chunks_.size(); at-- > 0;) run_backward(at);
    projection_.run(Phase::backward_data, *backend_);
    projection_.run(Phase::backward_weight, *backend_);
  }

  /// The values and gradients that the whole layer writes, joined from the chunks.
  void expect_whole() {
    OpTrial joined = whole_;
    joined.gradients[slot(at_.x)] = projection_.gradients[0];
    joined.gradients[slot(at_.w_ih)] = projection_.gradients[1];
    HostTensor& y = joined.values[slot(at_.y)];
    for (int each : {at_.y, at_.w_hh, at_.bias}) {
      clear(joined.values[slot(each)]);
      if (each != at_.y) clear(joined.gradients[slot(each)]);
    }
    for (std::size_t at = 0; at < chunks_.size(); ++at) {
      OpTrial& chunk = chunks_[at];
      put(y, region(order_[at], y), chunk.values[slot(own_.at(at).y)], Combine::sum);
      add(joined.gradients[slot(at_.w_hh)], chunk.gradients[slot(own_[at].w_hh)]);
      add(joined.gradients[slot(at_.bias)], chunk.gradients[slot(own_[at].bias)]);
    }
    take(joined.values, at_.h_last, chunks_.back().values, own_.back().h_last);
    take(joined.values, at_.c_last, chunks_.back().values, own_.back().c_last);
    take(joined.gradients, at_.h0, chunks_.front().gradients, own_.front().h0);
    take(joined.gradients, at_.c0, chunks_.front().gradients, own_.front().c0);
    compare(joined);
  }

 private:
  static std::size_t slot(int at) { return static_cast<std::size_t>(at); }
  static void clear(HostTensor& tensor) { std::ranges::fill(tensor.bytes, std::byte{}); }
  /// Copies a tensor if the operator has it.
  static void take(std::vector<HostTensor>& to, int to_slot, const std::vector<HostTensor>& from,
                   int from_slot) {
    if (to_slot >= 0 && from_slot >= 0) to[slot(to_slot)] = from[slot(from_slot)];
  }
  static Region region(Range steps, const HostTensor& tensor) {
    Region region = Region::whole(tensor.spec.shape);
    region.ranges[1] = steps;
    return region;
  }

  void add_chunk(Range steps) {
    Recurrent op = op_;
    op.projected = true, op.begin = steps.begin, op.sequence = kSteps;
    op.has_state = op_.has_state || !chunks_.empty();
    OpCase row = whole_case(op);
    const HostTensor& p = projection_.values[2];
    row.inputs[0] = f64(region(steps, p).shape());
    OpTrial chunk(row, 1);
    RecurrentSlots own(op);
    chunk.values[slot(own.x)] = cut(p, region(steps, p));
    for (auto [mine, theirs] : {std::pair{own.lengths, at_.lengths}, std::pair{own.w_hh, at_.w_hh},
                                std::pair{own.bias, at_.bias}})
      take(chunk.values, mine, whole_.values, theirs);
    take(chunk.values, own.h0, whole_.values, at_.h0);
    take(chunk.values, own.c0, whole_.values, at_.c0);
    if (!chunks_.empty()) {
      take(chunk.values, own.h0, chunks_.back().values, own_.back().h_last);
      take(chunk.values, own.c0, chunks_.back().values, own_.back().c_last);
    }
    chunk.run(Phase::forward, *backend_);
    chunks_.push_back(std::move(chunk));
    own_.push_back(own);
  }

  void run_backward(std::size_t at) {
    OpTrial& chunk = chunks_[at];
    const RecurrentSlots& own = own_[at];
    const HostTensor& dy = whole_.gradients[slot(at_.y)];
    chunk.gradients[slot(own.y)] = cut(dy, region(order_[at], dy));
    bool is_last = at + 1 == chunks_.size();
    const std::vector<HostTensor>& next = is_last ? whole_.gradients : chunks_[at + 1].gradients;
    take(chunk.gradients, own.h_last, next, is_last ? at_.h_last : own_[at + 1].h0);
    take(chunk.gradients, own.c_last, next, is_last ? at_.c_last : own_[at + 1].c0);
    chunk.run(Phase::backward, *backend_);
    HostTensor& dp = projection_.gradients[2];
    put(dp, region(order_[at], dp), chunk.gradients[slot(own.x)], Combine::sum);
  }

  void compare(OpTrial& joined) {
    for (const PhaseSpec& phase : whole_.signature.phases) {
      for (const Use& use : phase.uses) {
        const Slot& compared = whole_.signature.slots[slot(use.slot)];
        if (use.access == Access::read || compared.role == Role::saved) continue;
        EXPECT_LT(distance(joined.tensor(use), whole_.tensor(use)), 1e-12)
            << to_text(whole_.op) << (use.gradient ? " d" : " ") << compared.name;
      }
    }
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  OpTrial& whole_;
  Recurrent op_;
  RecurrentSlots at_;
  OpTrial projection_;
  std::vector<Range> order_;  // steps of each chunk, as they run
  std::vector<OpTrial> chunks_;
  std::vector<RecurrentSlots> own_;  // of each chunk
};

TEST(RecurrentChunks, ComputeWhatTheWholeLayerComputes) {
  for (int choice = 0; choice < 24; ++choice) {
    Recurrent op{.kind = static_cast<RecurrentKind>(choice % 3),
                 .hidden = kHidden,
                 .reverse = choice / 3 % 2 == 1,
                 .has_state = choice / 6 % 2 == 1,
                 .has_lengths = choice / 12 == 1};
    OpTrial whole(whole_case(op), 3);
    for (Phase phase : {Phase::forward, Phase::backward})
      whole.run(phase, *make_reference_backend());
    for (const std::vector<Range>& steps :
         {std::vector<Range>{{0, 3}, {3, 4}, {4, 9}}, std::vector<Range>{{0, 1}, {1, 7}, {7, 9}}}) {
      Chunks chunks(whole, steps);
      chunks.run_backward();
      chunks.expect_whole();
    }
  }
}

}  // namespace
}  // namespace troika
