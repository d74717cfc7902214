// Numbers of the whole step that every device must know: the loss, norms, requests of the hosts.
#include <fmt/format.h>

#include <algorithm>

#include "lower/device_emitter.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

const TensorSpec kOneNumber{{1}, DType::f64};
constexpr std::uint32_t kTotalsPhase = 12;

IdFields id_of_total(std::int32_t sum, std::uint32_t index) {
  return {.phase = kTotalsPhase,
          .subject = Subject::step,
          .number = static_cast<std::uint32_t>(sum),
          .index = index};
}

}  // namespace

std::int32_t DeviceEmitter::number() {
  return add({.role = BufferRole::number, .spec = kOneNumber, .category = Category::workspace});
}

/// Pairwise where the order of sums is fixed.
std::int32_t DeviceEmitter::emit_sum_of(std::vector<std::int32_t> numbers, std::int64_t copies,
                                        Moment moment, IdFields id, std::int32_t of) {
  if (numbers.size() == 1 && copies == 1) return numbers[0];
  bool fixed = plan_.request.strategy->sync.fixed_order;
  while (true) {
    std::size_t most = fixed ? std::min<std::size_t>(2, numbers.size()) : numbers.size();
    bool last = most == numbers.size();
    std::vector<std::int32_t> next;
    for (std::size_t at = 0; at < numbers.size(); at += most) {
      std::size_t count = std::min(most, numbers.size() - at);
      if (count == 1 && !last) {
        next.push_back(numbers[at]);
        continue;
      }
      Sum op{.count = static_cast<std::int64_t>(count), .copies = last ? copies : 1};
      PlannedTask task{.kind = WorkKind::sum,
                       .of = of,
                       .key = add_key({op, std::vector(count, kOneNumber), Phase::forward, {}})};
      for (std::size_t each = at; each < at + count; ++each)
        task.uses.push_back({numbers[each], Access::read});
      next.push_back(number());
      task.uses.push_back({next.back(), Access::write});
      moment.turn.rank += 2;
      ++id.index;
      add(std::move(task), moment, id);
    }
    if (last) return next[0];
    numbers = std::move(next);
  }
}

std::int32_t DeviceEmitter::local_total(std::size_t at, Moment moment, IdFields id) {
  const OutlinedValue& own = outline().values[at];
  auto job = as_index(own.writers.at(0).job);
  const JobTiles& tiles = plan_.distribution.jobs[job];
  const Participant& writer = tiles.uses[as_index(own.writers[0].use)];
  // Tiles that differ only in other axes, or are replicas, have the same number: each adds a share.
  std::map<std::int64_t, std::vector<std::int32_t>> by_copies;
  for (std::int32_t tile : tiles_here(tiles.set)) {
    std::int64_t copies = plan_.tables.tiles.copies_of(tiles.set, writer.partial_axes, tile);
    for (std::int32_t part = 0; part < plan_.micro_batches(); ++part)
      by_copies[copies].push_back(buffer_of(at, part, contribution_local(at, 0, tile)));
  }
  if (by_copies.empty()) return -1;
  std::vector<std::int32_t> shares;
  for (auto& [copies, numbers] : by_copies) {
    shares.push_back(emit_sum_of(std::move(numbers), copies, moment, id,
                                 static_cast<std::int32_t>(at)));
    moment.turn.rank += 64;
    id.index += 64;
  }
  return emit_sum_of(std::move(shares), 1, moment, id, static_cast<std::int32_t>(at));
}

std::vector<std::int32_t> DeviceEmitter::emit_totals(std::int32_t sum,
                                                     const std::vector<std::int32_t>& numbers,
                                                     const Moment& start, const Moment& finish) {
  if (!plan_.has_peers()) return numbers;
  auto count = static_cast<std::int64_t>(numbers.size());
  Assemble op{.shape = {count}};
  PlannedTask task{.kind = WorkKind::assemble, .index = sum};
  KernelKey key{{}, {}, Phase::forward, {}};
  auto put = [&](std::int64_t at, std::int32_t buffer) {
    add_box(op, task, {{{{0, 1}}}, {{{at, at + 1}}}});
    key.inputs.push_back(kOneNumber);
    task.uses.push_back({buffer, Access::read});
  };
  for (std::int64_t at = 0; at < count; ++at)
    if (numbers[as_index(at)] >= 0) put(at, numbers[as_index(at)]);
  if (key.inputs.empty()) put(0, zeros(kOneNumber));
  key.op = std::move(op);
  task.key = add_key(std::move(key));
  std::int32_t packed = add({.role = BufferRole::totals,
                             .of = sum,
                             .index = -1,
                             .spec = {{count}, DType::f64},
                             .category = Category::workspace});
  task.uses.push_back({packed, Access::write});
  Moment moment = start;
  add(std::move(task), moment, id_of_total(sum, 0x4000));
  std::int32_t call = calls_.of_totals(sum, count, finish);
  moment.turn.rank += 2;
  emit_end({call, device_, true}, packed, moment, id_of_total(sum, 0x4001));
  emit_end({call, device_, false}, packed, finish, id_of_total(sum, 0x4002));
  std::vector<std::int32_t> totals;
  for (std::int64_t at = 0; at < count; ++at)
    totals.push_back(add({.role = BufferRole::totals,
                          .of = sum,
                          .index = static_cast<std::int32_t>(at),
                          .spec = kOneNumber,
                          .category = Category::workspace,
                          .view_of = packed,
                          .view_offset = kOneNumber.bytes() * at}));
  return totals;
}

/// Behind the last forward phase the loss of all micro-batches and devices is added up, with what
/// the hosts ask for. The guard needs it, and so does the host after the step.
void DeviceEmitter::emit_loss() {
  const Loss& loss = *plan_.request.graph->loss;
  Moment start{end_of_forward(plan_, plan_.micro_batches() - 1)};
  start.turn.rank = 1;
  std::vector<std::int32_t> numbers;
  for (TensorId tensor : {loss.loss_sum, loss.weight_sum}) {
    Moment moment = start;
    moment.turn.number = static_cast<std::uint32_t>(numbers.size());
    numbers.push_back(local_total(
        as_index(outline().tensors[tensor.index()]), moment,
        id_of_total(0, static_cast<std::uint32_t>(numbers.size() << 10))));
  }
  if (plan_.has_peers())
    numbers.push_back(fixture(BufferRole::requests, 0, kOneNumber));
  start.turn.number = 2;
  Moment finish = plan_.guard;
  finish.turn.number = 2;
  finish.turn.rank = 0x101;
  std::vector<std::int32_t> totals = emit_totals(0, numbers, start, finish);
  if (totals.size() > 2) {
    made_.buffers[as_index(totals[2])].held = true;
    made_.outputs[fmt::format("step.requests@{}", device_)] = totals[2];
  }
  totals.resize(2);
  if (plan_.request.optimizer->watches_gradient()) {
    Moment squares = plan_.guard;
    squares.turn.number = 1;
    squares.turn.rank = 1;
    Moment known = squares;
    known.turn.rank = 0x101;
    totals.push_back(emit_totals(1, {local_squares()}, squares, known)[0]);
  }
  emit_guard(totals);
}

/// Each element of a gradient that several devices have counts once: each adds its share.
std::int32_t DeviceEmitter::local_squares() {
  std::vector<std::int32_t> squares;
  for (std::size_t at = 0; at < plan_.updates.size(); ++at) {
    const UpdatePlan& update = plan_.updates[at];
    if (plan_.request.graph->parameters[as_index(update.parameter)].state) continue;
    TileSetId set = value(as_index(update.weight)).stored.set;
    for (std::int32_t place : tiles_here(set)) {
      auto region = as_index(
          update.groups->region[as_index(place)]);
      std::int64_t copies = update.shared != nullptr ? 1 : update.groups->copies[region];
      Moment moment{end_of_step(plan_, 0)};
      moment.turn.number = static_cast<std::uint32_t>(update.parameter);
      moment.turn.rank = 1 + 32 * static_cast<std::uint32_t>(place_of(set, place));
      emit_squares(at, place, copies, moment, squares);
    }
  }
  if (squares.empty()) return -1;
  Moment moment = plan_.guard;
  moment.turn.number = 0;
  moment.turn.rank = 1;
  return emit_sum_of(std::move(squares), 1, moment, id_of_total(1, 0), -1);
}

void DeviceEmitter::emit_squares(std::size_t at, std::int32_t place, std::int64_t copies,
                                 Moment moment, std::vector<std::int32_t>& squares) {
  const UpdatePlan& update = plan_.updates[at];
  IdFields id{.phase = 12,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = static_cast<std::uint32_t>(
                  32 * place_of(value(as_index(update.weight)).stored.set, place))};
  for (std::int32_t part : counted_parts(at, place, gradient_part(at, place), moment, id)) {
    squares.push_back(number());
    add({.kind = WorkKind::square_sum,
         .of = static_cast<std::int32_t>(at),
         .key = add_key({SquareSum{.copies = copies},
                         {made_.buffers[as_index(part)].spec},
                         Phase::forward,
                         {}}),
         .uses = {{part, Access::read}, {squares.back(), Access::write}}},
        moment, id);
    moment.turn.rank += 2;
    ++id.index;
  }
}

/// Boxes of a stored region that no region before it has, so that sums over them count each element
/// once. `whole`: a buffer that holds the region; parts of it are copies.
std::vector<std::int32_t> DeviceEmitter::counted_parts(std::size_t at, std::int32_t place,
                                                       std::int32_t whole, Moment& moment,
                                                       IdFields& id) {
  const UpdatePlan& update = plan_.updates[at];
  if (update.counted.empty()) return {whole};
  const DistributedValue& weight = value(as_index(update.weight));
  Region region = region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape);
  std::vector<std::int32_t> parts;
  for (const Region& box : update.counted[as_index(update.groups->region[as_index(place)])]) {
    if (box == region) {
      parts.push_back(whole);
      continue;
    }
    Region from = within(box, region);
    Shape shape = from.shape();
    Assemble op{.shape = {shape.begin(), shape.end()}};
    PlannedTask task{.kind = WorkKind::assemble};
    add_box(op, task, {from, Region::whole(shape)});
    std::int32_t plain = in_layout(whole, Layout::plain, moment);
    TensorSpec spec = made_.buffers[as_index(plain)].spec;
    parts.push_back(add({.role = BufferRole::number,
                         .spec = {shape, spec.dtype},
                         .category = Category::workspace}));
    task.key = add_key({op, {spec}, Phase::forward, {}});
    task.uses = {{plain, Access::read}, {parts.back(), Access::write}};
    add(std::move(task), moment, id);
    moment.turn.rank += 2;
    ++id.index;
  }
  return parts;
}

void DeviceEmitter::emit_guard(const std::vector<std::int32_t>& numbers) {
  const OptimizerSpec& optimizer = *plan_.request.optimizer;
  Guard op{.gradient = numbers.size() > 2, .clip_norm = optimizer.clip_norm};
  PlannedTask task{.kind = WorkKind::guard,
                   .key = add_key({op, std::vector(numbers.size(), kOneNumber), Phase::update, {}})};
  for (std::int32_t number : numbers) task.uses.push_back({number, Access::read});
  task.uses.push_back(
      {fixture(BufferRole::control, 0, {{kControlCount}, DType::f64}), Access::update});
  Moment moment = plan_.guard;
  moment.turn.number = 0xffff;
  moment.turn.rank = kUpdateRank + 1;
  add(std::move(task), moment, {.phase = kTotalsPhase + 1, .subject = Subject::step});
}

/// Outputs that are sums over the batch, on every device.
void DeviceEmitter::emit_output_sums() {
  const Graph& graph = *plan_.request.graph;
  for (std::size_t at = 0; at < graph.outputs.size(); ++at) {
    const NamedTensor& output = graph.outputs[at];
    if (std::ranges::count(plan_.request.outputs, output.name) == 0) continue;
    if (!is_total(graph[output.tensor].spec)) continue;
    auto sum = static_cast<std::int32_t>(2 + at);
    Moment moment{end_of_forward(plan_, plan_.micro_batches() - 1)};
    moment.turn.number = static_cast<std::uint32_t>(0x100 + at);
    moment.turn.rank = 1;
    std::int32_t own = local_total(
        as_index(outline().tensors[output.tensor.index()]), moment,
        id_of_total(sum, 0));
    moment.turn.rank = 0x1001;
    Moment finish = moment;
    finish.turn.rank = 0x1101;
    std::int32_t total = emit_totals(sum, {own}, moment, finish)[0];
    made_.buffers[as_index(total)].held = true;
    made_.outputs[plan_.has_peers() ? fmt::format("{}@{}", output.name, device_) : output.name] =
        total;
  }
}

}  // namespace troika
