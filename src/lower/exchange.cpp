#include "lower/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lower/assemble_task.h"
#include "lower/communicate.h"

namespace troika {
namespace {

/// Whether the parts, in their order, lie one behind the other in the memory of the whole.
bool are_consecutive(const std::vector<Region>& parts, const Region& whole) {
  std::size_t dim = 0;
  while (dim < whole.rank() && whole[dim].extent() == 1) ++dim;
  if (dim == whole.rank()) return true;
  std::int64_t next = whole[dim].begin;
  for (const Region& part : parts) {
    for (std::size_t other = dim + 1; other < whole.rank(); ++other)
      if (part[other] != whole[other]) return false;
    if (part[dim].begin != next) return false;
    next = part[dim].end;
  }
  return true;
}

/// A vector that collects one block per member, in their order.
struct Blocks {
  BufferId vector;
  bool in_order = false;        ///< They lie as in the whole, and the vector has its shape.
  std::vector<BufferId> views;  ///< Of the blocks, shaped like the parts.
  std::vector<Range> ranges;
};

class Exchanger {
 public:
  Exchanger(Draft& draft, Value& value, const std::vector<Placed>& needs,
            const ExchangeOptions& options)
      : draft_(draft), value_(value), needs_(needs), options_(options) {}

  std::vector<Placed> run() {
    std::vector<std::vector<ValuePiece>> terms = value_.sources(options_.finished);
    for (const Exchange& found : draft_.fragments.exchanges(spread_of(terms), needs_)) {
      std::vector<ValuePiece> pieces;
      for (const Taken& taken : found.pieces) pieces.push_back(terms[taken.term][taken.piece]);
      switch (found.kind) {
        case Exchange::Kind::all_reduce:
          reduce(pieces);
          break;
        case Exchange::Kind::reduce_scatter:
          scatter(found, pieces);
          break;
        case Exchange::Kind::all_gather:
          gather(found, pieces);
          break;
      }
      met_.insert(found.needs.begin(), found.needs.end());
    }
    std::vector<Placed> left;
    for (std::size_t at = 0; at < needs_.size(); ++at)
      if (!met_.contains(at)) left.push_back(needs_[at]);
    return left;
  }

 private:
  CombineRule rule() const {
    return value_.combine == Combine::max ? CombineRule::max : CombineRule::sum;
  }
  CombineOrder order() const {
    return draft_.request.strategy->sync.fixed_order ? CombineOrder::tree : CombineOrder::any;
  }

  /// In place, so where somebody else has the buffer, or the members' buffers come from different
  /// kernels and might lie differently, on a copy.
  void reduce(std::vector<ValuePiece> pieces) {
    if (std::ranges::any_of(pieces,
                            [&](const ValuePiece& piece) { return is_shared(piece.buffer); }) ||
        !are_written_alike(pieces)) {
      for (ValuePiece& piece : pieces)
        piece.buffer = add_copy(
            draft_, {options_.fragment, piece.buffer, Region::whole(piece.place.region.shape())});
    }
    std::vector<BufferId> buffers;
    for (const ValuePiece& piece : pieces) buffers.push_back(piece.buffer);
    add_communication(
        draft_,
        {options_.fragment, value_.name, Collective::all_reduce, rule(), buffers, {}, order()});
    replace_terms(pieces);
  }

  /// From now on every member has the sum, and no term has a part of it any more.
  void replace_terms(const std::vector<ValuePiece>& sums) {
    const Region& region = sums[0].place.region;
    for (std::vector<ValuePiece>& term : value_.terms)
      std::erase_if(term, [&](const ValuePiece& piece) { return piece.place.region == region; });
    std::ranges::copy(sums, std::back_inserter(value_.terms[0]));
    std::ranges::copy(sums, std::back_inserter(value_.finished));
  }

  bool is_shared(BufferId id) const {
    const BufferSpec& buffer = draft_.tasks[id];
    const BufferUsers& users = draft_.users[id.index()];
    return buffer.view_of.valid() || buffer.persistent || users.is_viewed || users.is_read;
  }

  bool are_written_alike(const std::vector<ValuePiece>& pieces) const {
    const KernelKey* first = nullptr;
    for (const ValuePiece& piece : pieces) {
      for (std::size_t writer : draft_.users[piece.buffer.index()].writers) {
        const KernelKey& key = draft_.tasks.tasks[writer].key;
        if (first != nullptr && key != *first) return false;
        first = &key;
      }
    }
    return true;
  }

  Blocks make_blocks(const std::vector<Region>& parts, const Region& whole, DeviceId device) {
    Blocks blocks;
    blocks.in_order = are_consecutive(parts, whole);
    Shape shape = blocks.in_order ? whole.shape() : Shape{whole.elements()};
    blocks.vector = add_buffer(draft_, {fmt::format("{} blocks@{}", value_.name, device.value),
                                        {shape, value_.spec.dtype},
                                        device,
                                        value_.category});
    std::int64_t begin = 0;
    for (const Region& part : parts) {
      std::int64_t end = begin + part.elements();
      blocks.ranges.push_back({begin, end});
      blocks.views.push_back(
          add_buffer(draft_, {fmt::format("{}{}@{}", value_.name, to_string(part), device.value),
                              {part.shape(), value_.spec.dtype},
                              device,
                              value_.category,
                              blocks.vector,
                              size_of(value_.spec.dtype) * begin}));
      begin = end;
    }
    return blocks;
  }

  /// Every member puts its part into its block; afterwards all have all blocks.
  void gather(const Exchange& found, const std::vector<ValuePiece>& pieces) {
    std::vector<Region> parts;
    for (const ValuePiece& piece : pieces) parts.push_back(piece.place.region);
    std::vector<Blocks> members;
    CommunicationRequest request{options_.fragment, value_.name, Collective::all_gather};
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const ValuePiece& piece = pieces[at];
      Blocks& blocks = members.emplace_back(make_blocks(parts, found.region, piece.place.device));
      add_copy(draft_, {options_.fragment, piece.buffer, Region::whole(piece.place.region.shape()),
                        blocks.views[at]});
      request.buffers.push_back(blocks.vector);
      request.ranges = blocks.ranges;
    }
    add_communication(draft_, request);
    for (std::size_t at = 0; at < pieces.size(); ++at)
      value_.finished.push_back(
          {needs_[found.needs[at]], join(members[at], parts, needs_[found.needs[at]])});
  }

  /// The blocks as one tensor.
  BufferId join(const Blocks& blocks, const std::vector<Region>& parts, const Placed& need) {
    if (blocks.in_order) return blocks.vector;
    TensorSpec spec{need.region.shape(), value_.spec.dtype};
    std::vector<AssembledPart> assembled;
    for (std::size_t at = 0; at < parts.size(); ++at)
      assembled.push_back(
          {blocks.views[at], Region::whole(parts[at].shape()), within(parts[at], need.region)});
    return add_assemble(draft_,
                        {.fragment = options_.fragment,
                         .name = fmt::format("{} joined@{}", value_.name, need.device.value),
                         .spec = spec,
                         .device = need.device,
                         .category = value_.category},
                        assembled);
  }

  /// Every member cuts its term into the members' blocks; afterwards each has the sum in its own.
  void scatter(const Exchange& found, const std::vector<ValuePiece>& pieces) {
    std::vector<Region> parts;
    for (std::size_t need : found.needs) parts.push_back(needs_[need].region);
    CommunicationRequest request{options_.fragment, value_.name, Collective::reduce_scatter,
                                 rule()};
    request.order = order();
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const ValuePiece& piece = pieces[at];
      Blocks blocks = make_blocks(parts, found.region, piece.place.device);
      if (blocks.in_order)
        add_copy(draft_, {options_.fragment, piece.buffer, Region::whole(found.region.shape()),
                          blocks.vector});
      for (std::size_t part = 0; !blocks.in_order && part < parts.size(); ++part)
        add_copy(draft_, {options_.fragment, piece.buffer, within(parts[part], found.region),
                          blocks.views[part]});
      request.buffers.push_back(blocks.vector);
      request.ranges = blocks.ranges;
      value_.finished.push_back({needs_[found.needs[at]], blocks.views[at]});
    }
    add_communication(draft_, request);
  }

  Draft& draft_;
  Value& value_;
  const std::vector<Placed>& needs_;
  const ExchangeOptions& options_;
  std::set<std::size_t> met_;
};

}  // namespace

Region within(const Region& region, const Region& outer) {
  Region local = region;
  for (std::size_t dim = 0; dim < region.rank(); ++dim) {
    local.ranges[dim].begin -= outer[dim].begin;
    local.ranges[dim].end -= outer[dim].begin;
  }
  return local;
}

std::vector<Placed> exchange(Draft& draft, Value& value, const std::vector<Placed>& needs,
                             const ExchangeOptions& options) {
  return Exchanger(draft, value, needs, options).run();
}

}  // namespace troika
