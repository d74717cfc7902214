#include "lower/insert_updates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/close_loss.h"
#include "lower/communicate.h"
#include "lower/exchange.h"
#include "lower/obtain.h"
#include "lower/updated_slices.h"

namespace troika {
namespace {

/// What a task of an update works on: a box of a slice.
struct UpdatedBox {
  const UpdatedSlice& slice;
  Region region;

  bool is_whole() const { return region == slice.place.region; }
};

class Updates {
 public:
  explicit Updates(Draft& draft) : draft_(draft), optimizer_(*draft.request.optimizer) {}

  void insert() {
    std::vector<std::size_t> moved;
    for (std::size_t at = 0; at < draft_.graph.parameters.size(); ++at)
      if (is_moved(at)) moved.push_back(at);
    TROIKA_CHECK(!moved.empty(), "a training program without trained parameters");
    for (std::size_t at : moved) slices_[at] = updated_slices(draft_, at);
    if (optimizer_.watches_gradient()) guard_gradient(moved);
    for (std::size_t at : moved) update(at);
  }

 private:
  bool is_moved(std::size_t at) const {
    const Parameter& parameter = draft_.graph.parameters[at];
    return parameter.trained && optimizer_.rules.contains(parameter.name) &&
           !draft_.parameter_gradients[at].empty();
  }

  /// Every element of the gradient counts once, wherever it lies several times.
  void guard_gradient(const std::vector<std::size_t>& moved) {
    std::map<DeviceId, std::vector<BufferId>> squares;
    for (std::size_t at : moved) {
      if (draft_.graph.parameters[at].state) continue;
      const std::vector<UpdatedSlice>& slices = slices_.at(at);
      std::vector<std::vector<Region>> boxes = count_once(slices);
      std::vector<Region> counted;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        if (std::ranges::count(counted, slices[i].place.region) > 0) continue;
        counted.push_back(slices[i].place.region);
        for (const Region& box : boxes[i])
          squares[slices[i].place.device].push_back(add_square_sum(at, {slices[i], box}));
      }
    }
    Sums local;
    for (const auto& [device, sums] : squares)
      local[device] = sum_of(draft_, "guard", "square_sum", sums);
    Sums total;
    for (const auto& [device, sums] : add_up_everywhere(draft_, "guard", {local}))
      total[device] = sums[0];
    add_guards(draft_, total);
  }

  BufferId add_square_sum(std::size_t at, const UpdatedBox& box) {
    const std::string& name = draft_.graph.parameters[at].name;
    BufferId gradient = part_in(box, box.slice.gradient, "update " + name);
    DeviceId device = box.slice.place.device;
    TensorSpec number{{1}, DType::f64};
    BufferId sum = add_buffer(draft_, {"square_sum " + name, number, device, Category::workspace});
    add_task(draft_, "update " + name,
             {.name = name + " square_sum",
              .device = device,
              .key = {SquareSum{}, {draft_.tasks[gradient].spec}, Phase::forward, {}},
              .uses = {{gradient, Access::read}, {sum, Access::write}},
              .is_update = true});
    return sum;
  }

  /// The box of a buffer that holds the slice: where it is less than that, a copy.
  BufferId part_in(const UpdatedBox& box, BufferId of_slice, const std::string& fragment) {
    if (box.is_whole()) return of_slice;
    BufferId copy =
        add_copy(draft_, {fragment, of_slice, within(box.region, box.slice.place.region)});
    draft_.tasks[copy].category = Category::workspace;
    draft_.tasks.tasks.back().is_update = true;
    return copy;
  }

  void update(std::size_t at) {
    const Parameter& parameter = draft_.graph.parameters[at];
    const Op& rule = optimizer_.rules.at(parameter.name);
    Signature s = signature(rule, std::vector{parameter.spec});
    std::vector<UpdatedSlice>& slices = slices_.at(at);
    bool staged = std::ranges::any_of(
        slices, [&](const UpdatedSlice& slice) { return s.needs_stages(slice.place.region); });
    if (!staged) {
      for (const UpdatedSlice& slice : slices)
        add_phase(at, rule, Phase::update, {slice, slice.place.region}, {});
    } else {
      Value sums{"square_sums " + parameter.name, {{2}, DType::f64}, Category::workspace};
      update_by_norms(at, rule, sums);
    }
    gather_slices(draft_, at);
  }

  /// The norms of the whole parameter are sums over its slices, each element counted once.
  void update_by_norms(std::size_t at, const Op& rule, Value& sums) {
    const std::vector<UpdatedSlice>& slices = slices_.at(at);
    std::vector<std::vector<Region>> boxes = count_once(slices);
    std::map<std::string, std::vector<ValuePiece>> terms;
    std::vector<Placed> needs;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      Placed whole{Region::whole(sums.spec.shape), slices[i].place.device};
      needs.push_back(whole);
      if (boxes[i].empty()) continue;
      terms[to_string(slices[i].place.region)].push_back(
          {whole, add_norms(at, rule, slices[i], boxes[i])});
    }
    for (auto& [region, pieces] : terms) sums.terms.push_back(std::move(pieces));
    std::vector<BufferId> totals =
        obtain(draft_, sums, needs, "update " + draft_.graph.parameters[at].name);
    for (std::size_t i = 0; i < totals.size(); ++i)
      add_phase(at, rule, Phase::apply, {slices[i], slices[i].place.region}, totals[i]);
  }

  /// The square sums over these boxes of a slice.
  BufferId add_norms(std::size_t at, const Op& rule, const UpdatedSlice& slice,
                     const std::vector<Region>& boxes) {
    const std::string& name = draft_.graph.parameters[at].name;
    std::vector<BufferId> sums;
    for (const Region& box : boxes) {
      sums.push_back(add_buffer(
          draft_,
          {"square_sums " + name, {{2}, DType::f64}, slice.place.device, Category::workspace}));
      add_phase(at, rule, Phase::statistics_1, {slice, box}, sums.back());
    }
    return sum_of(draft_, "update " + name, "square_sums " + name, sums);
  }

  void add_phase(std::size_t at, const Op& rule, Phase phase, const UpdatedBox& box,
                 BufferId statistic) {
    const Parameter& parameter = draft_.graph.parameters[at];
    const std::string& name = parameter.name;
    TensorSpec spec{box.region.shape(), parameter.spec.dtype};
    Signature local = signature(rule, std::vector{spec});
    Task task{.name = name + (phase == Phase::statistics_1 ? " norms" : " update"),
              .device = box.slice.place.device,
              .key = {rule, {spec}, phase, {}},
              .is_update = true};
    for (const Use& use : local.at(phase).uses) {
      const Slot& slot = local.slots[static_cast<std::size_t>(use.slot)];
      BufferId buffer =
          slot.role == Role::statistic ? statistic : find_buffer(parameter, box, slot, use);
      task.uses.push_back({buffer, use.access});
    }
    add_task(draft_, "update " + name, std::move(task));
  }

  BufferId find_buffer(const Parameter& parameter, const UpdatedBox& box, const Slot& slot,
                       const Use& use) {
    const UpdatedSlice& slice = box.slice;
    if (slot.role == Role::scalars) return scalars_buffer(draft_, slice.place.device);
    if (slot.role == Role::control) return control_buffer(draft_, slice.place.device);
    BufferId own = use.gradient ? slice.gradient : slice.weight;
    if (slot.role == Role::state) own = state_buffer(parameter, slice, slot);
    return part_in(box, own, "update " + parameter.name);
  }

  BufferId state_buffer(const Parameter& parameter, const UpdatedSlice& slice, const Slot& slot) {
    std::string name = parameter.name + "." + slot.name;
    std::string own = slice_name(draft_, name, parameter.spec.shape, slice.place);
    // Slices of a device that overlap may have equal parts, each with a state of its own.
    if (slice.stored != slice.place.region) own += " of " + to_string(slice.stored);
    BufferId state = persistent_buffer(draft_, {own,
                                                {slice.place.region.shape(), slot.spec.dtype},
                                                slice.place.device,
                                                Category::optimizer});
    draft_.tasks[state].part_of = name;
    draft_.tasks[state].region = slice.place.region;
    draft_.tasks[state].whole = parameter.spec.shape;
    return state;
  }

  Draft& draft_;
  const OptimizerSpec& optimizer_;
  std::map<std::size_t, std::vector<UpdatedSlice>> slices_;  // by parameter
};

}  // namespace

void insert_updates(Draft& draft) { Updates(draft).insert(); }

}  // namespace troika
