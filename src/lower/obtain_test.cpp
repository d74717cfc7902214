// The tasks that bring needs together, run in plain loops against gathering everything.
#include "lower/obtain.h"

#include <gtest/gtest.h>

#include "lower/testing/lowered.h"
#include "lower/testing/random_spread.h"
#include "strategy/ready.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// Runs copies, sums and messages on numbers, one per element.
class Interpreter {
 public:
  explicit Interpreter(const TaskGraph& graph) : graph_(graph), memory_(graph.buffers.size()) {
    for (std::size_t at = 0; at < memory_.size(); ++at)
      memory_[at].resize(static_cast<std::size_t>(graph.buffers[at].spec.shape.elements()));
  }

  /// Elements of a buffer, which may be a view.
  std::span<double> elements(BufferId id) {
    const TensorSpec& spec = graph_[id].spec;
    std::span<double> root = memory_[graph_.root(id).index()];
    return root.subspan(
        static_cast<std::size_t>(graph_.offset_in_root(id).count / size_of(spec.dtype).count),
        static_cast<std::size_t>(spec.shape.elements()));
  }

  void run() {
    std::vector<bool> done(graph_.communications.size());
    for (const Task& task : graph_.tasks) {
      if (task.computes()) {
        compute(task);
      } else if (task.kind == TaskKind::finish && !done[task.communication.index()]) {
        done[task.communication.index()] = true;  // all have started
        communicate(graph_[task.communication]);
      }
    }
  }

  /// By device: elements that came from others, as if each were sent by whoever has it.
  std::map<DeviceId, std::int64_t> received;

 private:
  void compute(const Task& task) {
    std::span<double> y = elements(task.uses.back().buffer);
    std::ranges::fill(y, 0.0);
    const Shape& shape = graph_[task.uses.back().buffer].spec.shape;
    std::vector<BoxPair> boxes;
    if (const auto* assemble = std::get_if<Assemble>(&task.key.op)) boxes = boxes_of(*assemble);
    for (std::size_t input = 0; input + 1 < task.uses.size(); ++input) {
      const Shape& from = graph_[task.uses[input].buffer].spec.shape;
      BoxPair box{Region::whole(from), Region::whole(shape)};
      if (!boxes.empty()) box = boxes[input];
      std::vector<double> taken;
      std::span<double> x = elements(task.uses[input].buffer);
      for_each_run(from, box.from, [&](std::int64_t offset, std::int64_t length) {
        auto begin = x.begin() + offset;
        taken.insert(taken.end(), begin, begin + length);
      });
      auto next = taken.begin();
      for_each_run(shape, box.to, [&](std::int64_t offset, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i)
          y[static_cast<std::size_t>(offset + i)] += *next++;
      });
    }
  }

  void communicate(const Communication& communication) {
    const CollectiveCall& call = communication.call;
    std::vector<std::span<double>> members;
    for (BufferId buffer : communication.buffers) members.push_back(elements(buffer));
    if (call.kind == Collective::all_to_all) return trade(communication, members);
    std::vector<double> all(members[0].begin(), members[0].end());
    for (std::size_t member = 1; member < members.size(); ++member)
      for (std::size_t i = 0; i < all.size(); ++i)
        if (call.kind != Collective::broadcast) all[i] += members[member][i];
    std::int64_t others = call.members - 1, count = call.count;
    for (std::size_t member = 0; member < members.size(); ++member) {
      Range own = call.ranges[member];
      std::int64_t crossed = others * count;
      if (call.kind == Collective::broadcast) crossed = member == 0 ? 0 : count;
      if (call.kind == Collective::all_gather) crossed = count - own.extent();
      if (call.kind == Collective::reduce_scatter) crossed = others * own.extent();
      received[communication.devices[member]] += crossed;
      if (call.kind != Collective::reduce_scatter) own = {0, count};
      for (std::int64_t i = own.begin; i < own.end; ++i)
        members[member][static_cast<std::size_t>(i)] = all[static_cast<std::size_t>(i)];
    }
  }

  /// Block `to` of the first half of `from` becomes block `from` of the second half of `to`.
  void trade(const Communication& communication, const std::vector<std::span<double>>& members) {
    const CollectiveCall& call = communication.call;
    for (std::size_t to = 0; to < members.size(); ++to) {
      for (std::size_t from = 0; from < members.size(); ++from) {
        Range sent = call.ranges[to], got = call.ranges[from];
        std::ranges::copy(members[from].subspan(static_cast<std::size_t>(sent.begin),
                                                static_cast<std::size_t>(sent.extent())),
                          members[to].begin() + call.count + got.begin);
        if (from != to) received[communication.devices[to]] += got.extent();
      }
    }
  }

  const TaskGraph& graph_;
  std::vector<std::vector<double>> memory_;
};

/// Some layouts of one tensor that meet as they would in a program.
struct Case {
  Shape shape;
  std::int64_t devices;
  Spread have;
  std::vector<Placed> needs;
};

Placed random_box(const Shape& shape, std::int64_t devices, Draws& draws) {
  Region box = Region::whole(shape);
  for (Range& range : box.ranges) {
    std::int64_t begin = draws.below(range.end), length = 1 + draws.below(range.end - begin);
    range = {begin, begin + length};
  }
  return {box, device(draws.below(devices))};
}

/// The whole on every device, or a part of the first dimension on each.
std::vector<Placed> regular(const Shape& shape, std::int64_t devices, bool is_cut) {
  std::vector<Placed> places;
  for (std::int64_t at = 0; at < devices; ++at) {
    places.push_back({Region::whole(shape), device(at)});
    if (is_cut) places.back().region.ranges[0] = part_of(shape[0], at, devices);
  }
  std::erase_if(places, [](const Placed& place) { return place.region.empty(); });
  return places;
}

/// Rows on all devices that are needed as columns, in another order.
Case transposed_case(Draws& draws) {
  Case made{.shape = {}, .devices = 8 + draws.below(2), .have = {}, .needs = {}};
  made.shape = {made.devices * (1 + draws.below(2)), 1 + draws.below(3), made.devices};
  made.have.terms.push_back(regular(made.shape, made.devices, true));
  std::int64_t turn = draws.below(made.devices);
  for (std::int64_t at = 0; at < made.devices; ++at) {
    Region column = Region::whole(made.shape);
    column.ranges[2] = part_of(made.shape[2], (at + turn) % made.devices, made.devices);
    made.needs.push_back({column, device(at)});
  }
  return made;
}

/// The same with something that makes it no all-to-all: one more need, a piece that is there twice
/// or on another device, a need that is somewhere else, one that is smaller.
Case nearly_transposed_case(Draws& draws) {
  Case made = transposed_case(draws);
  std::vector<Placed>& pieces = made.have.terms[0];
  auto any = [&](std::vector<Placed>& places) -> Placed& {
    return places[static_cast<std::size_t>(draws.below(std::ssize(places)))];
  };
  switch (draws.below(5)) {
    case 0:
      made.needs.push_back(random_box(made.shape, made.devices, draws));
      break;
    case 1:
      pieces.push_back({any(pieces).region, device(draws.below(made.devices))});
      break;
    case 2:
      any(pieces).device = device(draws.below(made.devices));
      break;
    case 3:
      any(made.needs).device = device(draws.below(made.devices));
      break;
    case 4:
      any(made.needs).region.ranges[0].end -= 1;
      break;
  }
  std::erase_if(made.needs, [](const Placed& need) { return need.region.empty(); });
  return made;
}

Case random_case(std::uint64_t seed) {
  Draws draws(seed);
  if (seed % 10 == 9) return transposed_case(draws);
  if (seed % 10 == 8) return nearly_transposed_case(draws);
  Case made;
  for (std::int64_t rank = 1 + draws.below(3); rank > 0; --rank)
    made.shape.push_back(1 + draws.below(7));
  made.devices = 1 + draws.below(6);
  bool is_sum = draws.below(2) == 0, is_regular = draws.below(2) == 0;
  std::vector<Placed> each = regular(made.shape, made.devices, draws.below(2) == 0);
  if (is_regular && is_sum)
    for (const Placed& place : regular(made.shape, made.devices, false))
      made.have.terms.push_back({place});
  else if (is_regular)
    made.have.terms.push_back(regular(made.shape, made.devices, true));
  else
    for (std::int64_t terms = is_sum ? 1 + draws.below(3) : 1; terms > 0; --terms)
      made.have.terms.push_back(random_tiles(made.shape, made.devices, draws));
  made.needs = is_regular ? each : random_tiles(made.shape, made.devices, draws);
  for (std::int64_t more = draws.below(4); more > 0; --more)
    made.needs.push_back(random_box(made.shape, made.devices, draws));
  return made;
}

/// Elements that the device lacks of all its needs together, over all terms.
std::int64_t lacking_on(const Case& made, DeviceId on) {
  std::vector<Region> counted;
  std::int64_t lacking = 0;
  for (const Placed& need : made.needs) {
    if (need.device != on) continue;
    for (const Region& box : subtract(need.region, counted))
      lacking += elements_lacking(made.shape, made.have, {box, on});
    counted.push_back(need.region);
  }
  return lacking;
}

/// A draft whose only value is the case's tensor.
struct Drafted {
  explicit Drafted(const Case& made)
      : lowered(static_cast<std::size_t>(made.devices), data_parallel),
        request(lowered.request()),
        draft(start_draft(request, cache)) {
    value = {.name = "v", .spec = {made.shape, DType::f32}};
    for (const std::vector<Placed>& term : made.have.terms) {
      std::vector<ValuePiece>& own = value.terms.emplace_back();
      for (const Placed& place : term) {
        std::string name = "piece " + std::to_string(draft.tasks.buffers.size());
        own.push_back(
            {place, add_buffer(draft, {name, {place.region.shape(), DType::f32}, place.device})});
        draft.tasks.inputs[name] = own.back().buffer;
      }
    }
    pieces = value.terms;
    if (value.terms.size() == 1) value.finished = std::exchange(value.terms, {})[0];
    needed = obtain(draft, value, made.needs, "v");
  }

  OnDevices lowered;
  LowerRequest request;
  FragmentCache cache;
  Draft draft;
  Value value;
  std::vector<std::vector<ValuePiece>> pieces;
  std::vector<BufferId> needed;
};

void fill(Interpreter& memory, const Case& made, const Drafted& drafted) {
  for (std::size_t term = 0; term < drafted.pieces.size(); ++term) {
    for (const ValuePiece& piece : drafted.pieces[term]) {
      auto next = memory.elements(piece.buffer).begin();
      for_each_run(made.shape, piece.place.region, [&](std::int64_t offset, std::int64_t length) {
        for (std::int64_t i = offset; i < offset + length; ++i) *next++ = value_of(term, i);
      });
    }
  }
}

TEST(Obtain, GivesEveryNeedOfRandomLayoutsAndEachElementCrossesOnceForEachReceiver) {
  std::map<Collective, int> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case made = random_case(seed);
    Drafted drafted(made);
    ASSERT_NO_THROW(verify(drafted.draft.tasks, Stage::expanded));
    Interpreter memory(drafted.draft.tasks);
    fill(memory, made, drafted);
    memory.run();
    for (std::size_t at = 0; at < made.needs.size(); ++at) {
      const Placed& need = made.needs[at];
      std::span<double> got = memory.elements(drafted.needed[at]);
      ASSERT_EQ(drafted.draft.tasks[drafted.needed[at]].device, need.device);
      ASSERT_EQ(std::vector<double>(got.begin(), got.end()),
                expected(made.shape, made.have.terms.size(), need))
          << to_string(need.region) << " on " << need.device.value;
    }
    for (const auto& [on, elements] : memory.received)
      ASSERT_LE(elements, lacking_on(made, on)) << "device " << on.value;
    for (const Communication& communication : drafted.draft.tasks.communications)
      ++seen[communication.call.kind];
  }
  for (Collective kind : {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast})
    EXPECT_GT(seen[kind], 10) << to_string(kind);
}

}  // namespace
}  // namespace troika
