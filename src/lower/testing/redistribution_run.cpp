#include "lower/testing/redistribution_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "lower/testing/redistribution_message.h"
#include "ops/assemble.h"

namespace troika {
namespace {

constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

struct Fault {
  std::string text;
};

void want(bool condition, const std::string& text) {
  if (!condition) throw Fault{text};
}

/// The tensor with the dimensions outside of the frame.
class Tensor {
 public:
  explicit Tensor(const RedistributionCase& made) : made_(made) {
    for (int dim = 0; dim < made.request.frame.dims; ++dim) {
      shape_.push_back(made.wide[dim]);
      shape_.push_back(made.request.frame.extents[dim]);
    }
    shape_.push_back(made.wide.back());
    for (std::int64_t extent : made.wide) scale_ *= extent;
  }

  /// Elements of the tensor per element of the frame.
  std::int64_t scale() const { return scale_; }

  /// Elements of the box, as they lie in the memory of a buffer of just that box.
  std::vector<std::int64_t> elements(const Box& box) const {
    Region region = Region::whole(shape_);
    for (int dim = 0; dim < made_.request.frame.dims; ++dim)
      region.ranges[2 * dim + 1] = {box.begin[dim], box.end[dim]};
    std::vector<std::int64_t> found;
    for_each_run(shape_, region, [&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) found.push_back(offset + i);
    });
    return found;
  }
  std::int64_t size() const { return shape_.elements(); }

 private:
  const RedistributionCase& made_;
  Shape shape_;
  std::int64_t scale_ = 1;
};

class Runner {
 public:
  Runner(const RedistributionCase& made, const Redistribution& result, const RunOptions& options)
      : request_(made.request), result_(result), options_(options), tensor_(made) {
    for (const Box& box : result.boxes) elements_.push_back(tensor_.elements(box));
    for (const PlacedBuffer& buffer : result.buffers)
      memory_.emplace_back(buffer.kind == PlacedBuffer::Kind::block
                               ? 0
                               : static_cast<std::size_t>(buffer.elements * tensor_.scale()),
                           buffer.kind == PlacedBuffer::Kind::zeros ? 0.0 : kUnwritten);
    handed_.resize(result.members.size());
    got_.resize(result.members.size());
    lent_.resize(result.buffers.size());
    find_expected();
    for (const std::vector<Touch>& reader : request_.readers) run_.read.emplace_back(reader.size());
    std::size_t devices = 1;
    for (const PlacedBuffer& buffer : result.buffers)
      devices = std::max(devices, static_cast<std::size_t>(buffer.device) + 1);
    run_.received.resize(devices);
    positions_.resize(devices);
    for (std::size_t at = result.steps.size(); at-- > 0;)
      positions_[result.steps[at].device].step = at;
  }

  RedistributionRun run() {
    try {
      check_form();
      run_devices();
    } catch (const Fault& fault) {
      run_.fault = fault.text;
    }
    return std::move(run_);
  }

 private:
  /// How far a device is: everything before `moment` is done, and of that steps before `step`.
  struct Position {
    std::int32_t moment = 0;
    std::size_t step = std::numeric_limits<std::size_t>::max();
    bool has_begun = false;  // the moment's writing
  };

  std::int32_t contributions() const { return static_cast<std::int32_t>(request_.from.size()); }
  std::int32_t moments() const {
    return contributions() + static_cast<std::int32_t>(request_.readers.size());
  }

  double number(std::size_t from, std::int32_t term, std::int64_t element) const {
    double whole = number_of(from, term, element);
    return options_.rough ? whole * 0x1p-20 + 1.0 / (whole + 3.0) : whole;
  }

  double combine(double a, double b) const { return request_.greatest ? std::max(a, b) : a + b; }

  /// By element: whether a tile of the term has it.
  std::vector<bool> cover(const Contribution& from, std::int32_t term) const {
    std::vector<bool> covered(tensor_.size());
    for (std::size_t tile = 0; tile < from.tiles.size(); ++tile)
      if (from.terms[tile] == term)
        for (std::int64_t element : elements_[from.tiles[tile].box]) covered[element] = true;
    return covered;
  }

  /// By element: all terms that have it.
  void find_expected() {
    expected_.assign(tensor_.size(), kUnwritten);
    for (std::size_t from = 0; from < request_.from.size(); ++from) {
      for (std::int32_t term = 0; term < request_.from[from].term_count; ++term) {
        std::vector<bool> covered = cover(request_.from[from], term);
        for (std::int64_t at = 0; at < tensor_.size(); ++at) {
          if (!covered[at]) continue;
          double next = number(from, term, at);
          expected_[at] = std::isnan(expected_[at]) ? next : combine(expected_[at], next);
        }
      }
    }
    std::ranges::replace_if(
        expected_, [](double sum) { return std::isnan(sum); }, 0.0);
  }

  void check_form() const {
    want(std::equal(request_.boxes.begin(), request_.boxes.end(), result_.boxes.begin()),
         "boxes of the request come first");
    want(std::ranges::is_sorted(result_.buffers, {}, &PlacedBuffer::device),
         "buffers are not sorted by device");
    want(std::ranges::is_sorted(
             result_.steps, {},
             [](const Step& step) { return std::pair(step.device, step.moment); }),
         "steps are not sorted by device and moment");
    std::vector<int> starts(result_.members.size()), finishes(result_.members.size());
    for (const Step& step : result_.steps) {
      want(result_.buffers[step.out].device == step.device, "a step writes on another device");
      for (std::int32_t at = 0; at < step.input_count; ++at)
        want(result_.buffers[input(step, at).buffer].device == step.device,
             "a step reads from another device");
      if (step.message < 0) continue;
      const Message& message = result_.messages[step.message];
      bool is_start = step.kind == Step::Kind::start;
      want(step.moment == (is_start ? message.start : message.finish), "another moment");
      want(result_.members[message.first_member + step.member].buffer == step.out,
           "another buffer");
      ++(is_start ? starts : finishes)[message.first_member + step.member];
    }
    want(std::ranges::count(starts, 1) == std::ssize(starts), "starts");
    want(std::ranges::count(finishes, 1) == std::ssize(finishes), "finishes");
    check_written();
  }

  /// All of them are there, and first on their devices.
  void check_written() const {
    using Key = std::tuple<std::int32_t, bool, std::int32_t, std::int32_t>;
    auto key = [](const PlacedBuffer& buffer) {
      bool is_made = buffer.kind != PlacedBuffer::Kind::written;
      return is_made ? Key{buffer.device, true, 0, 0}
                     : Key{buffer.device, false, buffer.origin, buffer.tile};
    };
    want(std::ranges::is_sorted(result_.buffers, {}, key), "written buffers are not in order");
    std::size_t tiles = 0;
    for (const Contribution& from : request_.from) tiles += from.tiles.size();
    auto written =
        std::ranges::count(result_.buffers, PlacedBuffer::Kind::written, &PlacedBuffer::kind);
    want(written == static_cast<std::ptrdiff_t>(tiles), "not one buffer for each tile");
  }

  void run_devices() {
    RandomStream random{.key = options_.seed};
    std::size_t left = positions_.size(), waiting = 0;
    for (std::uint64_t turn = 0; left > 0; ++turn) {
      auto device = static_cast<std::int32_t>(waiting > 0 ? turn % positions_.size()
                                                          : random.below(turn, positions_.size()));
      if (positions_[device].moment == moments()) {
        want(++waiting < 2 * positions_.size(), "devices wait for each other");
        continue;
      }
      waiting = advance(device) ? 0 : waiting + 1;
      want(waiting < 2 * positions_.size(), "devices wait for each other");
      if (positions_[device].moment == moments()) --left;
    }
  }

  /// Returns whether the device did something.
  bool advance(std::int32_t device) {
    Position& at = positions_[device];
    if (at.moment < contributions() && !at.has_begun) {
      write(device, at.moment);
      at.has_begun = true;
    }
    const std::vector<Step>& steps = result_.steps;
    if (at.step < steps.size() && steps[at.step].device == device &&
        steps[at.step].moment == at.moment) {
      if (!take(steps[at.step])) return false;
      ++at.step;
      return true;
    }
    if (at.moment >= contributions()) read(device, at.moment - contributions());
    ++at.moment;
    at.has_begun = false;
    return true;
  }

  void write(std::int32_t device, std::int32_t from) {
    for (std::size_t id = 0; id < result_.buffers.size(); ++id) {
      const PlacedBuffer& buffer = result_.buffers[id];
      if (buffer.kind != PlacedBuffer::Kind::written || buffer.device != device ||
          buffer.origin != from)
        continue;
      const Contribution& own = request_.from[from];
      want((own.tiles[buffer.tile] == Touch{device, buffer.box}), "another tile's buffer");
      std::span<double> to = view(static_cast<std::int32_t>(id));
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = number(from, own.terms[buffer.tile], elements_[buffer.box][i]);
    }
  }

  void read(std::int32_t device, std::int32_t reader) {
    for (std::size_t tile = 0; tile < request_.readers[reader].size(); ++tile) {
      Touch touch = request_.readers[reader][tile];
      if (touch.device != device) continue;
      std::int32_t id = result_.reads[reader][tile];
      const PlacedBuffer& buffer = result_.buffers[id];
      want(buffer.device == device && buffer.box == touch.box, "a tile reads something else");
      std::span<double> got = view(id);
      run_.read[reader][tile].assign(got.begin(), got.end());
      for (std::size_t i = 0; i < got.size(); ++i) {
        double wanted = expected_[elements_[touch.box][i]];
        double slack = options_.rough ? 1e-9 * std::abs(wanted) : 0.0;
        want(std::abs(got[i] - wanted) <= slack,
             fmt::format("reader {} tile {} element {}: {} instead of {}", reader, tile, i, got[i],
                         wanted));
      }
    }
  }

  StepInput input(const Step& step, std::int32_t at) const {
    return result_.inputs[step.first_input + at];
  }

  std::span<double> view(std::int32_t id) {
    const PlacedBuffer& buffer = result_.buffers[id];
    if (buffer.kind != PlacedBuffer::Kind::block) return memory_[id];
    want(result_.buffers[buffer.origin].kind == PlacedBuffer::Kind::vector &&
             result_.buffers[buffer.origin].device == buffer.device,
         "a block of no vector");
    return std::span(memory_[buffer.origin])
        .subspan(buffer.offset * tensor_.scale(), buffer.elements * tensor_.scale());
  }

  /// Returns whether the step could be done.
  bool take(const Step& step) {
    switch (step.kind) {
      case Step::Kind::sum:
      case Step::Kind::assemble:
        compute(step);
        return true;
      case Step::Kind::start:
        start(step);
        return true;
      case Step::Kind::finish:
        return finish(step);
    }
    return false;
  }

  /// Layers have each element once, in boxes that have places by their extents alone.
  bool has_layers(const Step& step) const {
    std::int32_t out = result_.buffers[step.out].box;
    std::vector<int> times(tensor_.size());
    std::vector<Shape> extents;
    for (std::int32_t at = 0; at < step.input_count; ++at) {
      std::int32_t box = input(step, at).box;
      extents.push_back(extents_of(box));
      for (std::int64_t element : elements_[box])
        if (++times[element] > 1) return false;
      if (!std::ranges::all_of(elements_[out], [&](auto each) { return times[each] == 1; }))
        continue;
      if (!place_boxes(extents_of(out), extents)) return false;
      std::ranges::fill(times, 0);
      extents.clear();
    }
    return step.kind == Step::Kind::assemble && extents.empty();
  }

  Shape extents_of(std::int32_t id) const {
    const Box& box = result_.boxes[id];
    Shape shape;
    for (int dim = 0; dim < request_.frame.dims; ++dim)
      shape.push_back(box.end[dim] - box.begin[dim]);
    return shape;
  }

  void compute(const Step& step) {
    const PlacedBuffer& out = result_.buffers[step.out];
    std::vector<double> sums(tensor_.size(), kUnwritten);
    want(step.layered == has_layers(step), "layers are there or not");
    for (std::int32_t at = 0; at < step.input_count; ++at) {
      auto [buffer, box] = input(step, at);
      if (step.kind == Step::Kind::sum)
        want(box == out.box && result_.buffers[buffer].box == box, "a sum of other boxes");
      std::vector<double> spread(tensor_.size(), kUnwritten);
      std::span<double> from = view(buffer);
      want(result_.buffers[buffer].box >= 0, "reads a vector without a shape");
      const std::vector<std::int64_t>& own = elements_[result_.buffers[buffer].box];
      for (std::size_t i = 0; i < from.size(); ++i) spread[own[i]] = from[i];
      for (std::int64_t element : elements_[box]) {
        want(!std::isnan(spread[element]), "reads what nobody has written");
        double& sum = sums[element];
        sum = std::isnan(sum) ? spread[element] : combine(sum, spread[element]);
      }
    }
    std::span<double> to = view(step.out);
    for (std::size_t i = 0; i < to.size(); ++i) {
      want(std::isnan(to[i]), "writes twice");
      double& sum = sums[elements_[out.box][i]];
      to[i] = std::isnan(sum) ? 0.0 : sum;
      sum = kUnwritten;
    }
    for (double sum : sums) want(std::isnan(sum), "an input reaches beyond the result");
  }

  bool is_root(const Step& step) const {
    return result_.messages[step.message].kind == Collective::broadcast && step.member == 0;
  }

  std::int32_t root_of(std::int32_t id) const {
    const PlacedBuffer& buffer = result_.buffers[id];
    return buffer.kind == PlacedBuffer::Kind::block ? buffer.origin : id;
  }

  void start(const Step& step) {
    std::span<double> own = view(step.out);
    std::int32_t member = result_.messages[step.message].first_member + step.member;
    handed_[member].assign(own.begin(), own.end());
    if (is_root(step)) {
      ++lent_[root_of(step.out)];
      return;
    }
    const PlacedBuffer& buffer = result_.buffers[step.out];
    want(lent_[root_of(step.out)] == 0, "changes what a message reads");
    want(buffer.kind != PlacedBuffer::Kind::written || !request_.from[buffer.origin].shared,
         "changes what others use");
    std::ranges::fill(own, kUnwritten);
  }

  bool finish(const Step& step) {
    const Message& message = result_.messages[step.message];
    for (std::int32_t member = 0; member < message.members; ++member)
      if (handed_[message.first_member + member].empty()) return false;
    if (got_[message.first_member].empty()) communicate(message);
    if (is_root(step))
      --lent_[root_of(step.out)];
    else
      std::ranges::copy(got_[message.first_member + step.member], view(step.out).begin());
    return true;
  }

  /// Block m of a member's vector.
  Range block(const Message& message, std::int32_t member) const {
    Range range = result_.ranges[message.first_range + member];
    return {range.begin * tensor_.scale(), range.end * tensor_.scale()};
  }

  void communicate(const Message& message) {
    std::span handed = std::span<const std::vector<double>>(handed_).subspan(message.first_member,
                                                                             message.members);
    MessageRun call{.kind = message.kind,
                    .count = message.elements * tensor_.scale(),
                    .greatest = request_.greatest,
                    .tree = request_.fixed_order};
    for (std::int32_t at = 0; message.first_range >= 0 && at < message.members; ++at)
      call.blocks.push_back(block(message, at));
    for (const std::vector<double>& own : handed)
      want(std::ssize(own) == call.vectors() * call.count, "vectors differ in length");
    for (std::int32_t to = 0; to < message.members; ++to) {
      got_[message.first_member + to] = deliver(call, handed, to);
      run_.received[result_.members[message.first_member + to].device] +=
          count_received(call, message.members, to) / tensor_.scale();
    }
  }

  const RedistributionRequest& request_;
  const Redistribution& result_;
  const RunOptions& options_;
  Tensor tensor_;
  std::vector<std::vector<std::int64_t>> elements_;  // by box
  std::vector<std::vector<double>> memory_;          // by buffer; empty for blocks
  std::vector<std::vector<double>> handed_, got_;    // by member
  std::vector<int> lent_;                            // by buffer: broadcasts that read it
  std::vector<double> expected_;                     // by element of the tensor
  std::vector<Position> positions_;                  // by device
  RedistributionRun run_;
};

}  // namespace

std::int32_t RedistributionCase::box(const Box& box) {
  auto found = std::ranges::find(request.boxes, box);
  if (found == request.boxes.end()) found = request.boxes.insert(found, box);
  return static_cast<std::int32_t>(found - request.boxes.begin());
}

double number_of(std::size_t contribution, std::int32_t term, std::int64_t element) {
  RandomStream random{.key = contribution * 1000 + static_cast<std::size_t>(term)};
  return static_cast<double>(random.below(static_cast<std::uint64_t>(element), 1 << 20) + 1);
}

RedistributionRun run(const RedistributionCase& made, const Redistribution& result,
                      const RunOptions& options) {
  return Runner(made, result, options).run();
}

}  // namespace troika
