#include "lower/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "lower/assemble_task.h"
#include "lower/communicate.h"

namespace troika {
namespace {

/// Where the part begins in the memory of the whole, in elements. Nothing: it is not one run there.
std::optional<std::int64_t> run_of(const Region& part, const Region& whole) {
  std::size_t dim = 0;
  while (dim < part.rank() && part[dim].extent() == 1) ++dim;
  for (std::size_t other = dim + 1; other < part.rank(); ++other)
    if (part[other] != whole[other]) return std::nullopt;
  auto strides = whole.shape().strides();
  std::int64_t offset = 0;
  for (std::size_t at = 0; at < part.rank(); ++at)
    offset += (part[at].begin - whole[at].begin) * strides[at];
  return offset;
}

/// One block per member, in their order, in vectors on each of them.
struct Blocks {
  Blocks(std::vector<Region> made_of, Region region)
      : parts(std::move(made_of)), whole(std::move(region)) {
    std::int64_t begin = 0;
    for (const Region& part : parts) {
      in_order = in_order && run_of(part, whole) == begin;
      ranges.push_back({begin, begin + part.elements()});
      begin = ranges.back().end;
    }
  }

  std::vector<Region> parts;
  Region whole;
  std::vector<Range> ranges;
  bool in_order = true;  ///< They lie as in the whole, and the vectors have its shape.
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
        case Exchange::Kind::all_to_all:
          trade(found, pieces);
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

  BufferId add_vector(const Blocks& blocks, DeviceId device) {
    Shape shape = blocks.in_order ? blocks.whole.shape() : Shape{blocks.whole.elements()};
    return add_buffer(draft_, {fmt::format("{} blocks@{}", value_.name, device.value),
                               {shape, value_.spec.dtype},
                               device,
                               category_of_copies(value_.category)});
  }

  /// A block of a vector, shaped like the part.
  BufferId add_view(const Blocks& blocks, BufferId vector, std::size_t at) {
    return add_block(vector, blocks.parts[at], blocks.ranges[at].begin);
  }

  /// Every member puts its part into its block; afterwards all have all blocks.
  void gather(const Exchange& found, const std::vector<ValuePiece>& pieces) {
    std::vector<Region> parts;
    for (const ValuePiece& piece : pieces) parts.push_back(piece.place.region);
    Blocks blocks(std::move(parts), found.region);
    CommunicationRequest request{options_.fragment, value_.name, Collective::all_gather};
    request.ranges = blocks.ranges;
    std::vector<BufferId> own;
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const ValuePiece& piece = pieces[at];
      request.buffers.push_back(add_vector(blocks, piece.place.device));
      own.push_back(add_view(blocks, request.buffers.back(), at));
      add_copy(draft_, {options_.fragment, piece.buffer, Region::whole(piece.place.region.shape()),
                        own.back()});
    }
    add_communication(draft_, request);
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const Placed& need = needs_[found.needs[at]];
      BufferId vector = request.buffers[at];
      value_.finished.push_back(
          {need, blocks.in_order ? vector : join(blocks, vector, {at, own[at]}, need)});
    }
  }

  /// The blocks of a vector as one tensor; one of them has a view already.
  BufferId join(const Blocks& blocks, BufferId vector, std::pair<std::size_t, BufferId> own,
                const Placed& need) {
    std::vector<AssembledPart> assembled;
    for (std::size_t at = 0; at < blocks.parts.size(); ++at) {
      BufferId view = at == own.first ? own.second : add_view(blocks, vector, at);
      assembled.push_back(
          {view, Region::whole(blocks.parts[at].shape()), within(blocks.parts[at], need.region)});
    }
    return put_together(need, assembled);
  }

  /// Every member cuts its term into the members' blocks; afterwards each has the sum in its own.
  void scatter(const Exchange& found, const std::vector<ValuePiece>& pieces) {
    std::vector<Region> parts;
    for (std::size_t need : found.needs) parts.push_back(needs_[need].region);
    Blocks blocks(std::move(parts), found.region);
    CommunicationRequest request{options_.fragment, value_.name, Collective::reduce_scatter,
                                 rule()};
    request.ranges = blocks.ranges;
    request.order = order();
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const ValuePiece& piece = pieces[at];
      BufferId vector = add_vector(blocks, piece.place.device);
      request.buffers.push_back(vector);
      value_.finished.push_back({needs_[found.needs[at]], cut(blocks, vector, piece.buffer, at)});
    }
    add_communication(draft_, request);
  }

  /// Puts a term into the vector; returns the view of one of its blocks.
  BufferId cut(const Blocks& blocks, BufferId vector, BufferId term, std::size_t own) {
    if (blocks.in_order) {
      add_copy(draft_, {options_.fragment, term, Region::whole(blocks.whole.shape()), vector});
      return add_view(blocks, vector, own);
    }
    BufferId kept;
    for (std::size_t at = 0; at < blocks.parts.size(); ++at) {
      BufferId view = add_view(blocks, vector, at);
      add_copy(draft_, {options_.fragment, term, within(blocks.parts[at], blocks.whole), view});
      if (at == own) kept = view;
    }
    return kept;
  }

  /// Every member sends each of the others its block; what it keeps is read where it lies.
  void trade(const Exchange& found, const std::vector<ValuePiece>& pieces) {
    std::int64_t count = pieces[0].place.region.elements();
    CommunicationRequest request{options_.fragment, value_.name, Collective::all_to_all};
    for (std::size_t at = 0; at < pieces.size(); ++at)
      request.ranges.push_back(part_of(count, static_cast<std::int64_t>(at), std::ssize(pieces)));
    for (std::size_t at = 0; at < pieces.size(); ++at)
      request.buffers.push_back(add_traded(found, pieces[at], request.ranges));
    add_communication(draft_, request);
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      const Placed& need = needs_[found.needs[at]];
      std::vector<AssembledPart> parts;
      for (std::size_t from = 0; from < pieces.size(); ++from) {
        const Region& piece = pieces[from].place.region;
        Region block = intersect(piece, need.region), to = within(block, need.region);
        if (from == at) {
          parts.push_back({pieces[at].buffer, within(block, piece), to});
        } else {
          std::int64_t begin = count + request.ranges[from].begin;
          parts.push_back(
              {add_block(request.buffers[at], block, begin), Region::whole(block.shape()), to});
        }
      }
      value_.finished.push_back({need, put_together(need, parts)});
    }
  }

  /// What a member sends, its blocks for the others filled in, and room for what it receives.
  BufferId add_traded(const Exchange& found, const ValuePiece& piece,
                      const std::vector<Range>& ranges) {
    DeviceId device = piece.place.device;
    BufferId both = add_buffer(draft_, {fmt::format("{} traded@{}", value_.name, device.value),
                                        {{2 * piece.place.region.elements()}, value_.spec.dtype},
                                        device,
                                        category_of_copies(value_.category)});
    for (std::size_t to = 0; to < ranges.size(); ++to) {
      const Placed& need = needs_[found.needs[to]];
      if (need.device == device) continue;
      Region block = intersect(piece.place.region, need.region);
      add_copy(draft_, {options_.fragment, piece.buffer, within(block, piece.place.region),
                        add_block(both, block, ranges[to].begin)});
    }
    return both;
  }

  /// A block of a vector that begins at this element, shaped like the region.
  BufferId add_block(BufferId vector, const Region& region, std::int64_t begin) {
    DeviceId device = draft_.tasks[vector].device;
    return add_buffer(draft_, {fmt::format("{}{}@{}", value_.name, to_string(region), device.value),
                               {region.shape(), value_.spec.dtype},
                               device,
                               category_of_copies(value_.category),
                               vector,
                               size_of(value_.spec.dtype) * begin});
  }

  BufferId put_together(const Placed& need, const std::vector<AssembledPart>& parts) {
    return add_assemble(draft_,
                        {.fragment = options_.fragment,
                         .name = fmt::format("{} joined@{}", value_.name, need.device.value),
                         .spec = {need.region.shape(), value_.spec.dtype},
                         .device = need.device,
                         .category = category_of_copies(value_.category)},
                        parts);
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
