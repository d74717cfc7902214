#include "lower/unit_regions.h"

#include <algorithm>
#include <limits>

#include "lower/fuse.h"

namespace troika {
namespace {

/// The time to decide a region grows somewhat faster than its operators.
constexpr std::size_t kMostOperators = 20;
/// Convolution, norm, sum and activation of a residual block and of its neighbours.
constexpr std::size_t kWindow = 16;

/// A cut costs this much, and for every tensor that passes it one of the others.
constexpr std::int64_t kCut = 2, kOneLayout = 1, kManyLayouts = 8, kChain = 1000;
/// Tensors of fewer dimensions have no channels to arrange.
constexpr std::size_t kImageRank = 4;

class RegionFinder {
 public:
  explicit RegionFinder(const IndexedGraph& index)
      : index_(index),
        graph_(index.graph),
        producer_(graph_.tensors.size(), -1),
        readers_(graph_.tensors.size()),
        users_(graph_.parameters.size()) {
    for (std::size_t at = 0; at < graph_.operators.size(); ++at) {
      const Operator& op = graph_.operators[at];
      auto number = static_cast<std::int32_t>(at);
      for (TensorId output : op.outputs) producer_[output.index()] = number;
      for (TensorId input : op.inputs) add_once(readers_[input.index()], number);
      for (ParameterId parameter : op.parameters) add_once(users_[parameter.index()], number);
    }
  }

  UnitRegions run() {
    cut();
    find_items();
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) join_written(op);
    add_borders();
    for (const UnitRegion& region : made_.regions) mark_joined(region);
    return std::move(made_);
  }

 private:
  static void add_once(std::vector<std::int32_t>& list, std::int32_t number) {
    if (list.empty() || list.back() != number) list.push_back(number);
  }

  /// The producer and the readers of a tensor.
  std::vector<std::int32_t> uses_of(std::size_t tensor) const {
    std::vector<std::int32_t> uses{producer_[tensor]};
    uses.insert(uses.end(), readers_[tensor].begin(), readers_[tensor].end());
    return uses;
  }

  /// By place: what it costs to cut before that operator.
  std::vector<std::int64_t> cut_costs() const {
    std::vector<std::int64_t> costs(graph_.operators.size() + 1, kCut);
    for (std::size_t at = 0; at < graph_.tensors.size(); ++at) {
      if (producer_[at] < 0 || readers_[at].empty()) continue;
      std::int64_t cost =
          graph_.tensors[at].spec.shape.rank() < kImageRank ? kOneLayout : kManyLayouts;
      bool alone = readers_[at].size() == 1;
      if (alone && can_follow(graph_.operators[as_index(readers_[at][0])].op)) cost = kChain;
      for (std::int32_t place = producer_[at] + 1; place <= readers_[at].back(); ++place)
        costs[as_index(place)] += cost;
    }
    return costs;
  }

  /// The cheapest cuts, by dynamic programming over the places.
  void cut() {
    std::size_t count = graph_.operators.size();
    std::vector<std::int64_t> costs = cut_costs();
    std::vector<std::int64_t> best(count + 1, std::numeric_limits<std::int64_t>::max());
    std::vector<std::size_t> from(count + 1);
    best[0] = 0;
    for (std::size_t end = 1; end <= count; ++end) {
      for (std::size_t begin = end - std::min(end, kMostOperators); begin < end; ++begin) {
        std::int64_t sum = best[begin] + (end < count ? costs[end] : 0);
        if (sum < best[end]) best[end] = sum, from[end] = begin;
      }
    }
    made_.of.resize(count);
    for (std::size_t end = count; end > 0; end = from[end]) {
      UnitRegion& region = made_.regions.emplace_back();
      for (std::size_t at = from[end]; at < end; ++at)
        region.operators.push_back(static_cast<std::int32_t>(at));
    }
    std::ranges::reverse(made_.regions);
    for (std::size_t at = 0; at < made_.regions.size(); ++at)
      for (std::int32_t op : made_.regions[at].operators)
        made_.of[as_index(op)] = static_cast<std::int32_t>(at);
  }

  /// Lists what operators of several regions use.
  void find_items() {
    item_.assign(graph_.tensors.size() + graph_.parameters.size(), -1);
    for (std::size_t at = 0; at < item_.size(); ++at) {
      const std::vector<std::int32_t> users = users_of(at);
      auto region = [&](std::int32_t op) { return made_.of[as_index(op)]; };
      auto elsewhere = [&](std::int32_t op) { return region(op) != region(users[0]); };
      if (std::ranges::any_of(users, elsewhere)) item_[at] = static_cast<std::int32_t>(at);
    }
  }

  /// Of a tensor, or of a parameter, which come behind the tensors.
  std::vector<std::int32_t> users_of(std::size_t at) const {
    if (at >= graph_.tensors.size()) return users_[at - graph_.tensors.size()];
    return producer_[at] < 0 ? std::vector<std::int32_t>{} : uses_of(at);
  }

  /// A kernel that writes several of them has a say in all their layouts.
  void join_written(std::size_t op) {
    const Signature& s = index_.signatures[op];
    for (const std::vector<PhaseSpec>* phases : {&s.phases, &s.staged}) {
      for (const PhaseSpec& phase : *phases) {
        std::int32_t first = -1;
        for (const Use& use : phase.uses) {
          std::int32_t item = use.access == Access::read ? -1 : item_at(op, use.slot);
          if (item < 0) continue;
          if (first < 0) first = item;
          std::ranges::replace(item_, std::max(first, item), std::min(first, item));
          first = std::min(first, item);
        }
      }
    }
  }

  /// Of a slot; -1: none.
  std::int32_t item_at(std::size_t op, int slot) const {
    const Signature& s = index_.signatures[op];
    switch (s.slots[as_index(slot)].role) {
      case Role::input:
      case Role::output:
        return item_[tensor_at(graph_.operators[op], s, slot).index()];
      case Role::weight:
      case Role::state:
        return item_[graph_.tensors.size() + parameter_at(graph_.operators[op], s, slot).index()];
      case Role::saved:
      case Role::statistic:
      case Role::scalars:
      case Role::control:
        break;
    }
    return -1;
  }

  void add_borders() {
    std::vector<std::size_t> border_of(item_.size());
    for (std::size_t at = 0; at < item_.size(); ++at) {
      if (item_[at] < 0) continue;
      bool is_first = item_[at] == static_cast<std::int32_t>(at);
      if (is_first) border_of[at] = made_.borders.size(), made_.borders.emplace_back();
      RegionBorder& border = made_.borders[border_of[as_index(item_[at])]];
      bool tensor = at < graph_.tensors.size();
      (tensor ? border.tensors : border.parameters)
          .push_back(static_cast<std::int32_t>(tensor ? at : at - graph_.tensors.size()));
      for (std::int32_t op : users_of(at))
        if (std::ranges::find(border.window, op) == border.window.end())
          border.window.push_back(op);
    }
    for (RegionBorder& border : made_.borders) border.window = around(std::move(border.window));
  }

  /// With their neighbours in the graph, the nearest first, in the order of the graph.
  std::vector<std::int32_t> around(std::vector<std::int32_t> window) const {
    auto add = [&](std::int32_t op) {
      bool is_new = op >= 0 && std::ranges::find(window, op) == window.end();
      if (is_new && window.size() < kWindow) window.push_back(op);
    };
    for (std::size_t next = 0; next < window.size() && window.size() < kWindow; ++next) {
      const Operator& op = graph_.operators[as_index(window[next])];
      for (TensorId input : op.inputs) add(producer_[input.index()]);
      for (TensorId output : op.outputs)
        for (std::int32_t reader : readers_[output.index()]) add(reader);
    }
    std::ranges::sort(window);
    return window;
  }

  bool has_view(std::int32_t op) const {
    const Signature& s = index_.signatures[as_index(op)];
    return std::ranges::any_of(s.phases, &PhaseSpec::view) ||
           std::ranges::any_of(s.staged, &PhaseSpec::view);
  }

  /// Two borders may share memory through views, and their layouts are decided apart.
  void mark_joined(const UnitRegion& region) {
    std::vector<std::vector<std::size_t>> joined;  // tensors
    for (std::int32_t op : region.operators) {
      if (!has_view(op)) continue;
      std::vector<std::size_t> own;
      for (TensorId tensor : graph_.operators[as_index(op)].inputs) own.push_back(tensor.index());
      for (TensorId tensor : graph_.operators[as_index(op)].outputs) own.push_back(tensor.index());
      std::erase_if(joined, [&](const std::vector<std::size_t>& other) {
        if (std::ranges::find_first_of(other, own) == other.end()) return false;
        own.insert(own.end(), other.begin(), other.end());
        return true;
      });
      joined.push_back(std::move(own));
    }
    for (const std::vector<std::size_t>& tensors : joined) {
      std::vector<RegionBorder*> found;  // once for each tensor
      for (RegionBorder& border : made_.borders)
        for (std::int32_t tensor : border.tensors)
          if (std::ranges::find(tensors, as_index(tensor)) != tensors.end())
            found.push_back(&border);
      for (RegionBorder* border : found) border->is_plain = border->is_plain || found.size() > 1;
    }
  }

  const IndexedGraph& index_;
  const Graph& graph_;
  std::vector<std::int32_t> producer_;              // by tensor; -1: an input of the graph
  std::vector<std::vector<std::int32_t>> readers_;  // by tensor
  std::vector<std::vector<std::int32_t>> users_;    // by parameter
  /// By tensor, then by parameter: the first one whose layout is decided together with it; -1: it
  /// is used in one region.
  std::vector<std::int32_t> item_;
  UnitRegions made_;
};

}  // namespace

UnitRegions find_regions(const IndexedGraph& index) { return RegionFinder(index).run(); }

}  // namespace troika
