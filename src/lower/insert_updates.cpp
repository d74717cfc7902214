#include "lower/insert_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "lower/close_loss.h"
#include "lower/communicate.h"
#include "lower/obtain.h"

namespace troika {
namespace {

/// A part of a parameter that one device updates.
struct UpdatedSlice {
  Placed place;
  BufferId weight;
  BufferId gradient{};
};

/// The devices that store one region of a parameter.
std::vector<std::vector<ValuePiece>> replicas_of(const std::vector<ValuePiece>& slices) {
  std::vector<std::vector<ValuePiece>> groups;
  for (const ValuePiece& piece : slices) {
    auto same = std::ranges::find_if(groups, [&](const std::vector<ValuePiece>& group) {
      return group[0].place.region == piece.place.region;
    });
    if (same == groups.end())
      groups.push_back({piece});
    else
      same->push_back(piece);
  }
  return groups;
}

class Updates {
 public:
  explicit Updates(Draft& draft) : draft_(draft), optimizer_(*draft.request.optimizer) {}

  void insert() {
    std::vector<std::size_t> moved;
    for (std::size_t at = 0; at < draft_.graph.parameters.size(); ++at)
      if (is_moved(at)) moved.push_back(at);
    TROIKA_CHECK(!moved.empty(), "a training program without trained parameters");
    for (std::size_t at : moved) slices_[at] = find_slices(at);
    if (optimizer_.watches_gradient()) guard_gradient(moved);
    for (std::size_t at : moved) update(at);
  }

 private:
  bool is_moved(std::size_t at) const {
    const Parameter& parameter = draft_.graph.parameters[at];
    return parameter.trained && optimizer_.rules.contains(parameter.name) &&
           !draft_.parameter_gradients[at].empty();
  }

  std::vector<UpdatedSlice> find_slices(std::size_t at) {
    std::vector<UpdatedSlice> slices;
    for (const std::vector<ValuePiece>& group : replicas_of(draft_.slices[at])) {
      bool sliced = draft_.request.strategy->sync.sliced_update && group.size() > 1;
      for (std::size_t owner = 0; owner < group.size(); ++owner) {
        if (!sliced)
          slices.push_back({group[owner].place, group[owner].buffer});
        else if (auto slice = own_slice(group, owner))
          slices.push_back(*slice);
      }
    }
    std::vector<Placed> places;
    for (const UpdatedSlice& slice : slices) places.push_back(slice.place);
    const std::string& name = draft_.graph.parameters[at].name;
    std::vector<BufferId> gradients =
        obtain(draft_, draft_.parameter_gradients[at], places, "gradient " + name);
    for (std::size_t i = 0; i < slices.size(); ++i) slices[i].gradient = gradients[i];
    return slices;
  }

  /// The rows of a replicated region that one of its devices updates.
  std::optional<UpdatedSlice> own_slice(const std::vector<ValuePiece>& group, std::size_t owner) {
    const ValuePiece& piece = group[owner];
    Range rows = part_of(piece.place.region[0].extent(), static_cast<std::int64_t>(owner),
                         static_cast<std::int64_t>(group.size()));
    if (rows.empty()) return {};
    Placed place = piece.place;
    place.region.ranges[0] = {piece.place.region[0].begin + rows.begin,
                              piece.place.region[0].begin + rows.end};
    const BufferSpec stored = draft_.tasks[piece.buffer];
    Bytes row{stored.spec.bytes().count / stored.spec.shape[0]};
    BufferId weight = add_buffer(
        draft_, {stored.name + " own", {place.region.shape(), stored.spec.dtype}, place.device,
                 Category::parameter, piece.buffer, row * rows.begin});
    return UpdatedSlice{place, weight};
  }

  /// Every element of the gradient counts once, wherever it lies several times.
  void guard_gradient(const std::vector<std::size_t>& moved) {
    std::map<DeviceId, std::vector<BufferId>> squares;
    for (std::size_t at : moved) {
      if (draft_.graph.parameters[at].state) continue;
      std::vector<Region> counted;
      for (const UpdatedSlice& slice : slices_.at(at)) {
        auto overlaps = [&](const Region& other) {
          return !intersect(other, slice.place.region).empty();
        };
        if (std::ranges::count(counted, slice.place.region) > 0) continue;
        if (std::ranges::any_of(counted, overlaps))
          throw Error(ErrorKind::usage,
                      fmt::format("'{}' is stored in slices that overlap, so its gradient has no "
                                  "norm; split the operators that read it alike",
                                  draft_.graph.parameters[at].name));
        counted.push_back(slice.place.region);
        squares[slice.place.device].push_back(add_square_sum(at, slice));
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

  BufferId add_square_sum(std::size_t at, const UpdatedSlice& slice) {
    const std::string& name = draft_.graph.parameters[at].name;
    TensorSpec number{{1}, DType::f64};
    BufferId sum = add_buffer(
        draft_, {"square_sum " + name, number, slice.place.device, Category::workspace});
    add_task(draft_, "update " + name,
             {.name = name + " square_sum",
              .device = slice.place.device,
              .key = {SquareSum{}, {draft_.tasks[slice.gradient].spec}, Phase::forward, {}},
              .uses = {{slice.gradient, Access::read}, {sum, Access::write}},
              .is_update = true});
    return sum;
  }

  void update(std::size_t at) {
    const Parameter& parameter = draft_.graph.parameters[at];
    const Op& rule = optimizer_.rules.at(parameter.name);
    Signature s = signature(rule, std::vector{parameter.spec});
    std::vector<UpdatedSlice>& slices = slices_.at(at);
    bool staged = std::ranges::any_of(
        slices, [&](const UpdatedSlice& slice) { return s.needs_stages(slice.place.region); });
    if (!staged) {
      for (const UpdatedSlice& slice : slices) add_phase(at, rule, Phase::update, slice, {});
    } else {
      Value sums{"square_sums " + parameter.name, {{2}, DType::f64}, Category::workspace};
      update_by_norms(at, rule, sums);
    }
    gather(at);
  }

  /// The norms of the whole parameter are sums over its slices, replicas counted once.
  void update_by_norms(std::size_t at, const Op& rule, Value& sums) {
    std::map<std::string, std::vector<ValuePiece>> terms;
    std::vector<Placed> needs;
    Region whole = Region::whole(sums.spec.shape);
    for (const UpdatedSlice& slice : slices_.at(at)) {
      BufferId sum =
          add_buffer(draft_, {sums.name, sums.spec, slice.place.device, Category::workspace});
      add_phase(at, rule, Phase::statistics_1, slice, sum);
      terms[to_string(slice.place.region)].push_back({{whole, slice.place.device}, sum});
      needs.push_back({whole, slice.place.device});
    }
    for (auto& [region, pieces] : terms) sums.terms.push_back(std::move(pieces));
    std::vector<BufferId> totals =
        obtain(draft_, sums, needs, "update " + draft_.graph.parameters[at].name);
    for (std::size_t i = 0; i < totals.size(); ++i)
      add_phase(at, rule, Phase::apply, slices_.at(at)[i], totals[i]);
  }

  void add_phase(std::size_t at, const Op& rule, Phase phase, const UpdatedSlice& slice,
                 BufferId statistic) {
    const Parameter& parameter = draft_.graph.parameters[at];
    const std::string& name = parameter.name;
    TensorSpec spec = draft_.tasks[slice.weight].spec;
    Signature local = signature(rule, std::vector{spec});
    Task task{.name = name + (phase == Phase::statistics_1 ? " norms" : " update"),
              .device = slice.place.device,
              .key = {rule, {spec}, phase, {}},
              .is_update = true};
    for (const Use& use : local.at(phase).uses) {
      const Slot& slot = local.slots[static_cast<std::size_t>(use.slot)];
      task.uses.push_back({find_buffer(parameter, slice, slot, use, statistic), use.access});
    }
    add_task(draft_, "update " + name, std::move(task));
  }

  BufferId find_buffer(const Parameter& parameter, const UpdatedSlice& slice, const Slot& slot,
                       const Use& use, BufferId statistic) {
    if (slot.role == Role::scalars) return scalars_buffer(draft_, slice.place.device);
    if (slot.role == Role::control) return control_buffer(draft_, slice.place.device);
    if (slot.role == Role::statistic) return statistic;
    if (slot.role != Role::state) return use.gradient ? slice.gradient : slice.weight;
    std::string name = parameter.name + "." + slot.name;
    BufferId state =
        persistent_buffer(draft_, {slice_name(draft_, name, parameter.spec.shape, slice.place), slot.spec,
                                   slice.place.device, Category::optimizer});
    draft_.tasks[state].part_of = name;
    draft_.tasks[state].region = slice.place.region;
    draft_.tasks[state].whole = parameter.spec.shape;
    return state;
  }

  /// Where a slice was updated on one device only, the others get it now.
  void gather(std::size_t at) {
    if (!draft_.request.strategy->sync.sliced_update) return;
    const std::string& name = draft_.graph.parameters[at].name;
    for (const std::vector<ValuePiece>& group : replicas_of(draft_.slices[at])) {
      if (group.size() < 2) continue;
      CommunicationRequest request{"update " + name, name, Collective::all_gather};
      const TensorSpec spec = draft_.tasks[group[0].buffer].spec;
      std::int64_t row = spec.shape.elements() / spec.shape[0];
      for (std::size_t owner = 0; owner < group.size(); ++owner) {
        Range rows = part_of(spec.shape[0], static_cast<std::int64_t>(owner),
                             static_cast<std::int64_t>(group.size()));
        request.ranges.push_back({rows.begin * row, rows.end * row});
        request.buffers.push_back(group[owner].buffer);
      }
      add_communication(draft_, request);
    }
  }

  Draft& draft_;
  const OptimizerSpec& optimizer_;
  std::map<std::size_t, std::vector<UpdatedSlice>> slices_;  // by parameter
};

}  // namespace

void insert_updates(Draft& draft) { Updates(draft).insert(); }

}  // namespace troika
