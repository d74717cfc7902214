// Numbers of the whole step that every device must know: the loss, norms, requests of the hosts.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lower/device_emitter.h"
#include "lower/names.h"
#include "lower/planned_calls.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

constexpr std::uint32_t kTotalsPhase = 12;
constexpr std::uint32_t kMostSums = 1 << 13;  // for the loss, or for its weight

IdFields id_of_total(std::int32_t sum, std::uint32_t index) {
  return {.phase = kTotalsPhase,
          .subject = Subject::step,
          .number = static_cast<std::uint32_t>(sum),
          .index = index};
}

BufferRef total(std::int32_t sum, std::int32_t index) {
  return {.role = BufferRole::totals, .of = sum, .index = index};
}

}  // namespace

std::string DeviceEmitter::at_device(const std::string& name) const {
  return plan_.has_peers() ? fmt::format("{}@{}", name, here_.number()) : name;
}

const Fragment& DeviceEmitter::emit_step() {
  fragment_.clear();
  outputs_.clear();
  if (plan_.request.optimizer != nullptr) emit_loss();
  emit_output_sums();
  for (const HeldOutput& held : held_outputs()) {
    for (std::int32_t part = 0; part < plan_.micro_batches(); ++part) {
      Moment moment{end_of_forward(plan_, part)};
      moment.turn.rank = kStepRank;
      BufferRef buffer = here_.read_by(held.value, part, value(held.value).held, 0);
      want_viewed(buffer);
      outputs_.push_back({part_name(held.output.name, part, plan_.micro_batches()),
                          in_layout(buffer, Layout::plain, moment)});
    }
  }
  return fragment_;
}

/// Pairwise where the order of sums is fixed.
BufferRef DeviceEmitter::emit_sum_of(std::vector<BufferRef> numbers, std::int64_t copies,
                                     SumTasks& sum) {
  if (numbers.size() == 1 && copies == 1) return numbers[0];
  bool fixed = plan_.request.strategy->sync.fixed_order;
  while (true) {
    std::size_t most = fixed ? std::min<std::size_t>(2, numbers.size()) : numbers.size();
    bool last = most == numbers.size();
    std::vector<BufferRef> next;
    for (std::size_t at = 0; at < numbers.size(); at += most) {
      std::size_t count = std::min(most, numbers.size() - at);
      if (count == 1 && !last) {
        next.push_back(numbers[at]);
        continue;
      }
      sum.moment.turn.rank = rank_in(sum.ranks, sum.moment.turn.rank + 2);
      ++sum.next;
      if (sum.next % kMostSums == 0)
        throw OutOfIds("a device adds up more numbers of one kind than tasks can be numbered");
      PlannedTask task = begin(WorkKind::sum, sum.value, sum.sum);
      for (std::size_t each = at; each < at + count; ++each) use(numbers[each], Access::read);
      next.push_back({.role = BufferRole::number,
                      .of = sum.sum,
                      .index = static_cast<std::int32_t>(sum.next)});
      use(next.back(), Access::write);
      Sum op{.count = static_cast<std::int64_t>(count), .copies = last ? copies : 1};
      add_movement(task, {op, std::vector(count, kOneNumber), Phase::forward, {}}, sum.moment,
                   id_of_total(sum.sum, sum.next));
    }
    if (last) return next[0];
    numbers = std::move(next);
  }
}

std::optional<BufferRef> DeviceEmitter::local_total(SumTasks& sum) {
  auto at = as_index(sum.value);
  const OutlinedValue& own = outline().values[at];
  auto job = as_index(own.writers.at(0).job);
  const JobTiles& tiles = plan_.distribution.jobs[job];
  const Participant& writer = tiles.uses[as_index(own.writers[0].use)];
  // Tiles that differ only in other axes, or are replicas, have the same number: each adds a share.
  std::map<std::int64_t, std::vector<BufferRef>> by_copies;
  for (std::int32_t tile : here_.tiles_here(tiles.set)) {
    std::int64_t copies = plan_.tables.tiles.copies_of(tiles.set, writer.partial_axes, tile);
    for (std::int32_t part = 0; part < plan_.micro_batches(); ++part)
      by_copies[copies].push_back(here_.written(at, part, 0, tile));
  }
  if (by_copies.empty()) return std::nullopt;
  std::vector<BufferRef> shares;
  for (auto& [copies, numbers] : by_copies)
    shares.push_back(emit_sum_of(std::move(numbers), copies, sum));
  return emit_sum_of(std::move(shares), 1, sum);
}

std::optional<BufferRef> DeviceEmitter::local_squares(SumTasks sum) {
  std::vector<BufferRef> squares;
  for (std::size_t at = 0; at < plan_.updates.size(); ++at) {
    const UpdatePlan& update = plan_.updates[at];
    if (plan_.request.graph->parameters[as_index(update.parameter)].state) continue;
    for (std::int32_t place : here_.tiles_here(value(as_index(update.weight)).stored.set))
      for (std::size_t box = 0; box < counted_boxes(at, place); ++box)
        squares.push_back({.role = BufferRole::square,
                           .part = static_cast<std::uint16_t>(local_of(at, place)),
                           .of = static_cast<std::int32_t>(at),
                           .index = static_cast<std::int32_t>(box)});
  }
  if (squares.empty()) return std::nullopt;
  return emit_sum_of(std::move(squares), 1, sum);
}

std::vector<BufferRef> DeviceEmitter::emit_totals(
    std::int32_t sum, const std::vector<std::optional<BufferRef>>& numbers, const Moment& start,
    const Moment& finish) {
  std::vector<BufferRef> totals;
  if (!plan_.has_peers()) {
    for (const std::optional<BufferRef>& number : numbers)
      totals.push_back(number.value_or(BufferRef{.role = BufferRole::zero_number}));
    return totals;
  }
  auto count = std::ssize(numbers);
  auto is_there = [](const std::optional<BufferRef>& number) { return number.has_value(); };
  Assemble op{.shape = {count}, .layered = count == 1 || std::ranges::all_of(numbers, is_there)};
  PlannedTask task = begin(WorkKind::assemble, -1, sum);
  KernelKey key{{}, {}, Phase::forward, {}};
  auto put = [&](std::int64_t at, const BufferRef& buffer) {
    add_box(op, task, {{{{0, 1}}}, {{{at, at + 1}}}});
    key.inputs.push_back(kOneNumber);
    use(buffer, Access::read);
  };
  for (std::int64_t at = 0; at < count; ++at)
    if (numbers[as_index(at)]) put(at, *numbers[as_index(at)]);
  if (key.inputs.empty()) put(0, {.role = BufferRole::zero_number});
  key.op = std::move(op);
  use(total(sum, -1), Access::write);
  Moment moment = start;
  add_movement(task, std::move(key), moment, id_of_total(sum, 0x4000));
  moment.turn.rank += 2;
  std::int32_t member = here_.number();
  emit_end({CallKind::totals, sum, 0, 0, member, true}, total(sum, -1), moment,
           id_of_total(sum, 0x4001));
  emit_end({CallKind::totals, sum, 0, 0, member, false}, total(sum, -1), finish,
           id_of_total(sum, 0x4002));
  for (std::int64_t at = 0; at < count; ++at)
    totals.push_back(total(sum, static_cast<std::int32_t>(at)));
  return totals;
}

/// After the last forward phase the loss of all micro-batches and devices is added up, with what
/// the hosts ask for. The guard needs it, and so does the host after the step.
void DeviceEmitter::emit_loss() {
  const Loss& loss = *plan_.request.graph->loss;
  Moment start{end_of_forward(plan_, plan_.micro_batches() - 1)};
  start.turn.rank = 1;
  std::vector<std::optional<BufferRef>> numbers;
  for (TensorId tensor : {loss.loss_sum, loss.weight_sum}) {
    auto which = static_cast<std::uint32_t>(numbers.size());
    SumTasks sum{0, outline().tensors[tensor.index()], which * kMostSums, start};
    sum.moment.turn.number = which;
    numbers.push_back(local_total(sum));
  }
  if (plan_.has_peers()) numbers.push_back(BufferRef{.role = BufferRole::requests, .index = 0});
  start.turn.number = 2;
  std::vector<BufferRef> totals = emit_totals(0, numbers, start, finish_of_totals(plan_, 0));
  if (plan_.has_peers()) outputs_.push_back({at_device("step.requests"), totals[2]});
  totals.resize(2);
  if (plan_.request.optimizer->watches_gradient()) {
    Moment squares = plan_.guard;
    squares.turn.number = 0;
    squares.turn.rank = 1;
    std::optional<BufferRef> own = local_squares({1, -1, 0, squares});
    squares.turn.number = 1;
    totals.push_back(emit_totals(1, {own}, squares, finish_of_totals(plan_, 1))[0]);
  }
  emit_guard(totals);
}

void DeviceEmitter::emit_guard(const std::vector<BufferRef>& numbers) {
  const OptimizerSpec& optimizer = *plan_.request.optimizer;
  Guard op{.gradient = numbers.size() > 2, .clip_norm = optimizer.clip_norm};
  PlannedTask task = begin(WorkKind::guard, -1, -1);
  for (const BufferRef& number : numbers) use(number, Access::read);
  use({.role = BufferRole::control, .index = 0}, Access::update);
  Moment moment = plan_.guard;
  moment.turn.number = 0xffff;
  moment.turn.rank = kStepRank;
  add_movement(task, {op, std::vector(numbers.size(), kOneNumber), Phase::update, {}}, moment,
               {.phase = kTotalsPhase + 1, .subject = Subject::step});
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
    SumTasks tasks{sum, outline().tensors[output.tensor.index()], 0, moment, kOutputSumRanks};
    std::optional<BufferRef> own = local_total(tasks);
    moment.turn.rank = kOutputSumRanks.end + 1;
    outputs_.push_back(
        {at_device(output.name), emit_totals(sum, {own}, moment, finish_of_totals(plan_, sum))[0]});
  }
}

}  // namespace troika
