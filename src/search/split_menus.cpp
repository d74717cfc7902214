#include "search/split_menus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "strategy/cut_strategy.h"
#include "strategy/ready.h"
#include "strategy/split_check.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

constexpr int kMostRuns = 3;

std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> factors;
  for (std::int64_t prime = 2; prime * prime <= number; ++prime)
    for (; number % prime == 0; number /= prime) factors.push_back(prime);
  if (number > 1) factors.push_back(number);
  return factors;
}

/// The devices of each node; 0 if nodes differ or their devices are not next to each other.
std::int64_t devices_per_node(const Machine& machine) {
  std::int64_t each = std::ssize(machine.devices) / std::max(1, node_count(machine));
  for (std::int64_t at = 0; at < std::ssize(machine.devices); ++at)
    if (each == 0 || machine.devices[as_index(at)].node != at / each) return 0;
  return each;
}

/// What a run of digits is used for.
struct Label {
  enum class Use { axis, replicas, fixed } use = Use::replicas;
  std::string axis;

  bool operator==(const Label&) const = default;
};

/// The views of an operator over runs of digits.
class Views {
 public:
  Views(const std::vector<DeviceDigit>& digits, std::vector<Label> labels)
      : digits_(digits), labels_(std::move(labels)) {}

  std::vector<Split> with(int runs) {
    made_.clear();
    for (int count = 1; count <= std::min<int>(runs, static_cast<int>(digits_.size())); ++count)
      add_runs({}, 0, nullptr, count);
    if (digits_.empty()) made_.push_back({});
    return std::move(made_);
  }

 private:
  /// Appends `count` runs from digit `begin` on.
  void add_runs(const Split& split, std::size_t begin, const Label* before, int count) {
    if (count == 0) return made_.push_back(split);
    std::size_t last_end = digits_.size() - static_cast<std::size_t>(count - 1);
    for (std::size_t end = count == 1 ? last_end : begin + 1; end <= last_end; ++end)
      for (const Label& label : labels_)
        if (before == nullptr || label != *before) add_run(split, {begin, end}, label, count);
  }

  struct Run {
    std::size_t begin, end;
  };
  void add_run(const Split& split, Run run, const Label& label, int count) {
    std::int64_t degree = 1, stride = digits_[run.end - 1].stride;
    for (std::size_t at = run.begin; at < run.end; ++at) degree *= digits_[at].count;
    if (label.use != Label::Use::fixed) {
      Split more = split;
      more.factors.push_back({.axis = label.axis, .degree = degree, .stride = stride});
      return add_runs(more, run.end, &label, count - 1);
    }
    for (std::int64_t value = 0; value < degree; ++value) {
      Split more = split;
      more.first += value * stride;
      add_runs(more, run.end, &label, count - 1);
    }
  }

  const std::vector<DeviceDigit>& digits_;
  std::vector<Label> labels_;
  std::vector<Split> made_;
};

/// Makes the splits of one operator.
class MenuMaker {
 public:
  MenuMaker(const IndexedGraph& index, const Machine& machine, const MenuOptions& options)
      : index_(index), machine_(machine), options_(options), digits_(device_digits(machine)) {}

  std::vector<Split> make(std::size_t op) {
    std::vector<Split> splits = make_views(op, {});
    bool may_be_cut = std::holds_alternative<Recurrent>(index_.graph.operators[op].op);
    if (may_be_cut && !options_.chunks.empty()) add_chunked(op, splits);
    return splits;
  }

 private:
  std::vector<Label> labels_of(std::size_t op, const std::vector<std::string>& more) const {
    std::vector<Label> labels;
    for (const Axis& axis : index_.signatures[op].axes)
      if (axis.extent > 1) labels.push_back({Label::Use::axis, axis.name});
    for (const std::string& axis : more) labels.push_back({Label::Use::axis, axis});
    labels.push_back({Label::Use::replicas, ""});
    if (options_.uses_some_devices) labels.push_back({Label::Use::fixed, ""});
    return labels;
  }

  std::vector<Split> make_views(std::size_t op, const std::vector<std::string>& more_axes) {
    int runs = options_.runs > 0 ? options_.runs : kMostRuns;
    while (true) {
      std::vector<Split> views = Views(digits_, labels_of(op, more_axes)).with(runs);
      if (!more_axes.empty()) return views;  // checked by the caller
      std::erase_if(views, [&](const Split& view) { return !fits(op, view); });
      if (options_.runs > 0 || runs == 1 || views.size() <= options_.most_splits) return views;
      --runs;
    }
  }

  bool fits(std::size_t op, const Split& split) const {
    SplitSubject subject{&index_.graph.operators[op], &index_.signatures[op]};
    return !why_split_infeasible(subject, split, terms());
  }

  SplitTerms terms() const { return {std::ssize(machine_.devices), options_.micro_batches}; }

  /// Adds the splits of a recurrent layer that is cut over time, all chunks on the same devices.
  void add_chunked(std::size_t op, std::vector<Split>& splits) {
    const Operator& layer = index_.graph.operators[op];
    std::int64_t steps = index_.graph[layer.inputs[0]].spec.shape[1];
    const std::vector<Split> whole = splits;
    std::vector<Split> stepped = make_views(op, {"u"});
    std::set<std::int64_t> counts(options_.chunks.begin(), options_.chunks.end());
    counts.insert(steps);
    for (std::int64_t chunks : counts) {
      if (chunks < 2 || chunks > steps) continue;
      Strategy alone{.splits = {{layer.name, {.chunks = chunks}}},
                     .micro_batches = options_.micro_batches};
      if (why_infeasible(alone, index_.graph, machine_)) continue;
      CutGraph cut = cut_layers(index_.graph, layer_cuts(alone, index_.graph));
      IndexedGraph parts(cut.graph);
      for (Split split : chunks == steps ? stepped : whole) {
        split.chunks = chunks;
        alone.splits[layer.name] = split;
        if (fits_parts(cut_strategy(alone, index_.graph, cut), parts))
          splits.push_back(std::move(split));
      }
    }
  }

  /// Whether the operators of a cut layer can be split so.
  bool fits_parts(const Strategy& strategy, const IndexedGraph& parts) const {
    return std::ranges::all_of(strategy.splits, [&](const auto& named) {
      std::size_t op = parts.operators.at(named.first);
      SplitSubject subject{&parts.graph.operators[op], &parts.signatures[op]};
      return !why_split_infeasible(subject, named.second, terms());
    });
  }

  const IndexedGraph& index_;
  const Machine& machine_;
  const MenuOptions& options_;
  std::vector<DeviceDigit> digits_;
};

bool has_equal_tiles(const Signature& s, const Split& split, std::int64_t micro_batches) {
  return std::ranges::all_of(s.axes, [&](const Axis& axis) {
    return cut_extent(axis, micro_batches) % degree_along(split, axis.name) == 0;
  });
}

}  // namespace

std::string subject_text(const IndexedGraph& index, std::size_t op) {
  const Operator& own = index.graph.operators[op];
  std::string text = to_text(own.op);
  for (TensorId input : own.inputs) text += ' ' + to_string(index.graph[input].spec);
  for (const Axis& axis : index.signatures[op].axes)
    text += fmt::format(" {}={}/{}", axis.name, axis.extent, axis.whole);
  return text;
}

MenuOptions search_menus(const IndexedGraph& index, const LowerRequest& request) {
  MenuOptions options{.micro_batches = request.strategy->micro_batches};
  if (is_large(*request.machine)) {
    options.uses_some_devices = false;
    options.runs = 2;
  }
  Outline outline = make_outline({index, request.optimizer, request.outputs});
  Strategy data = data_parallel(index.graph, *request.machine);
  for (std::size_t op = 0; op < index.graph.operators.size(); ++op)
    if (outline.jobs_of[op].empty())
      options.fixed[op] = split_of(data, index.graph.operators[op].name);
  return options;
}

std::vector<DeviceDigit> device_digits(const Machine& machine) {
  std::int64_t each = devices_per_node(machine);
  std::vector<std::int64_t> counts;
  if (each > 0) {
    counts = prime_factors(std::ssize(machine.devices) / each);
    for (std::int64_t count : prime_factors(each)) counts.push_back(count);
  } else {
    counts = prime_factors(std::ssize(machine.devices));
  }
  std::vector<DeviceDigit> digits;
  std::int64_t stride = 1;
  for (std::size_t at = counts.size(); at-- > 0; stride *= counts[at])
    digits.insert(digits.begin(), {counts[at], stride});
  return digits;
}

Split normalised(Split split) {
  std::erase_if(split.factors, [](const Factor& factor) { return factor.degree == 1; });
  if (!is_view(split)) return split;
  std::vector<Factor> merged;
  for (Factor& factor : split.factors) {
    bool continues = !merged.empty() && merged.back().axis == factor.axis &&
                     merged.back().stride == factor.stride * factor.degree &&
                     merged.back().weights.empty() && factor.weights.empty();
    if (continues)
      merged.back() = {factor.axis, merged.back().degree * factor.degree, factor.stride, {}};
    else
      merged.push_back(std::move(factor));
  }
  split.factors = std::move(merged);
  return split;
}

std::string to_text(const Split& split) {
  std::string text;
  for (const Factor& factor : split.factors) {
    text += fmt::format("{}={}/{}", factor.axis.empty() ? "copies" : factor.axis, factor.degree,
                        factor.stride);
    if (!factor.weights.empty()) text += fmt::format("({})", fmt::join(factor.weights, ":"));
    text += ' ';
  }
  if (split.chunks > 1) text += fmt::format("chunks={}/{} ", split.chunks, split.chunk_stride);
  if (split.factors.empty()) text += "whole ";
  if (is_view(split)) return text + fmt::format("from {}", split.first);
  text += "on";
  for (DeviceId device : split.devices) text += fmt::format(" {}", device.value);
  return text;
}

SplitMenus::SplitMenus(const IndexedGraph& index, const Machine& machine,
                       const MenuOptions& options) {
  MenuMaker maker(index, machine, options);
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t op = 0; op < index.graph.operators.size(); ++op) {
    auto fixed = options.fixed.find(op);
    std::string text = subject_text(index, op);
    if (fixed != options.fixed.end()) text += " only " + to_text(fixed->second);
    auto [found, is_new] = known.try_emplace(std::move(text), menus_.size());
    if (is_new) {
      auto menu = std::make_unique<Menu>();
      auto add = [&](Split split) {
        split = normalised(std::move(split));
        if (!menu->places.try_emplace(to_text(split), menu->splits.size()).second) return;
        if (has_equal_tiles(index.signatures[op], split, options.micro_batches) &&
            tile_count(split) * replicas_of(split) == std::ssize(machine.devices))
          menu->even.push_back(menu->splits.size());
        menu->splits.push_back(std::move(split));
      };
      if (fixed != options.fixed.end()) {
        add(fixed->second);
      } else {
        add({});
        for (Split& split : maker.make(op)) add(std::move(split));
      }
      menus_.push_back(std::move(menu));
    }
    menu_of_.push_back(found->second);
  }
}

std::optional<std::size_t> SplitMenus::find(std::size_t op, const Split& split) const {
  const auto& places = menus_[menu_of_[op]]->places;
  auto found = places.find(to_text(normalised(split)));
  if (found == places.end()) return std::nullopt;
  return found->second;
}

double SplitMenus::log10_size() const {
  double sum = 0;
  for (std::size_t op = 0; op < count(); ++op)
    sum += std::log10(static_cast<double>(of(op).size()));
  return sum;
}

std::uint64_t SplitMenus::size() const {
  std::uint64_t product = 1;
  for (std::size_t op = 0; op < count(); ++op)
    if (__builtin_mul_overflow(product, of(op).size(), &product))
      return std::numeric_limits<std::uint64_t>::max();
  return product;
}

}  // namespace troika
