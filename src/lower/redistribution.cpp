#include "lower/redistribution.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "lower/redistribution_stages.h"

namespace troika {
namespace redistribution {
namespace {

bool are_sorted_by_device(const std::vector<Touch>& tiles) {
  return std::ranges::is_sorted(tiles, {}, &Touch::device);
}

/// The final numbers of the buffers of a contribution's tiles, if there is no other buffer.
std::vector<std::int32_t> number_tiles(const std::vector<Touch>& tiles) {
  std::vector<std::int32_t> order(tiles.size()), numbers(tiles.size());
  std::iota(order.begin(), order.end(), 0);
  if (are_sorted_by_device(tiles)) return order;
  std::ranges::stable_sort(order, {}, [&](std::int32_t tile) { return tiles[tile].device; });
  for (std::int32_t at = 0; at < std::ssize(order); ++at) numbers[order[at]] = at;
  return numbers;
}

/// By reader and tile: the tile of the contribution that wrote just that. Nothing: some tile needs
/// more.
std::optional<std::vector<std::vector<std::int32_t>>> find_in_place(
    const RedistributionRequest& request) {
  const std::vector<Touch>& written = request.from[0].tiles;
  std::vector<std::vector<std::int32_t>> found;
  PairMap by_place;  // filled only if some reader's tiles are not just those of the contribution
  for (const std::vector<Touch>& reader : request.readers) {
    std::vector<std::int32_t>& tiles = found.emplace_back(reader.size());
    if (reader == written) {
      std::iota(tiles.begin(), tiles.end(), 0);
      continue;
    }
    if (by_place.find(PairMap::key(written[0].device, written[0].box)) == nullptr) {
      by_place.reserve(written.size());
      for (std::int32_t tile = 0; tile < std::ssize(written); ++tile)
        by_place.find_or_add(PairMap::key(written[tile].device, written[tile].box), tile);
    }
    for (std::size_t at = 0; at < reader.size(); ++at) {
      const auto* tile = by_place.find(PairMap::key(reader[at].device, reader[at].box));
      if (tile == nullptr) return std::nullopt;
      tiles[at] = *tile;
    }
  }
  return found;
}

/// The answer where every tile finds what it reads. Most tensors of most plans are such.
std::optional<Redistribution> stay_in_place(const RedistributionRequest& request) {
  if (request.from.size() != 1 || request.from[0].term_count != 1 || request.from[0].tiles.empty())
    return std::nullopt;
  auto reads = find_in_place(request);
  if (!reads) return std::nullopt;
  const std::vector<Touch>& tiles = request.from[0].tiles;
  std::vector<std::int32_t> numbers = number_tiles(tiles);
  Redistribution result{.boxes = request.boxes, .reads = std::move(*reads), .in_place = true};
  result.buffers.resize(tiles.size());
  for (std::int32_t tile = 0; tile < std::ssize(tiles); ++tile) {
    std::int32_t box = tiles[tile].box;
    result.buffers[numbers[tile]] = {.kind = PlacedBuffer::Kind::written,
                                     .device = tiles[tile].device,
                                     .box = box,
                                     .origin = 0,
                                     .tile = tile,
                                     .elements = elements(request.boxes[box], request.frame.dims)};
  }
  for (std::vector<std::int32_t>& reader : result.reads)
    for (std::int32_t& read : reader) read = numbers[read];
  return result;
}

/// Serves one reader after the other; what was brought for one is there for the next.
class Redistributor {
 public:
  explicit Redistributor(Draft& draft) : draft_(draft), tiles_with_(draft.boxes.size()) {}

  std::vector<std::vector<std::int32_t>> serve_all() {
    std::vector<std::vector<std::int32_t>> reads;
    if (draft_.request.readers.empty()) return reads;
    terms_ = collect_terms(draft_);
    for (std::int32_t at = 0; at < std::ssize(draft_.request.readers); ++at) {
      draft_.set_reader(at);
      reads.push_back(serve(draft_.request.readers[at]));
    }
    return reads;
  }

 private:
  std::vector<std::int32_t> serve(const std::vector<Touch>& reader) {
    settle_terms();
    std::vector<Need> finished, open;
    sort_needs(find_needs(reader), finished, open);
    bring_finished(reader, finished);
    bring_terms(reader, open);
    std::vector<std::int32_t> reads;
    reads.reserve(reader.size());
    for (const Touch& tile : reader) {
      reads.push_back(*by_place_.find(PairMap::key(tile.device, tile.box)));
      draft_.mark_used(reads.back());
    }
    return reads;
  }

  /// A sum of one is finished.
  void settle_terms() {
    merge_terms(draft_, terms_);
    if (terms_.size() != 1) return;
    by_place_.reserve(terms_.held.size());
    for (const Held& held : terms_.held) add_finished(held);
    terms_ = {};
  }

  /// Of several at one place the first is kept.
  void add_finished(const Held& held) {
    std::int32_t& buffer = by_place_.find_or_add(PairMap::key(held.device, held.box), kNeeded);
    if (buffer != kNeeded) return;
    buffer = held.buffer;
    finished_.held.push_back(held);
    finished_.ends = {static_cast<std::int32_t>(finished_.held.size())};
    finished_.from = {0};
  }

  /// Whether no two needs of different boxes have elements in common: sums of the same elements
  /// must have the same bits.
  bool need_different_elements(const std::vector<Need>& needs) const {
    if (terms_.size() < 2) return true;
    std::vector<std::int32_t> numbers;
    for (const Need& need : needs) numbers.push_back(need.box);
    std::ranges::sort(numbers);
    auto [first, last] = std::ranges::unique(numbers);
    numbers.erase(first, last);
    BoxIndex index;
    index.build(draft_.boxes, numbers);
    return std::ranges::all_of(numbers, [&](std::int32_t number) {
      std::size_t overlaps = 0;
      index.for_each_overlap(draft_.boxes[number], [&](std::int32_t) { ++overlaps; });
      return overlaps <= 1;  // its own
    });
  }

  /// Needs that nothing finished answers, each once.
  std::vector<Need> find_needs(const std::vector<Touch>& reader) {
    std::vector<Need> needs;
    for (std::int32_t tile = 0; tile < std::ssize(reader); ++tile) {
      auto [device, box] = reader[tile];
      std::int32_t ordinal = tiles_with_[box]++;
      const auto* known = by_place_.find(PairMap::key(device, box));
      if (known != nullptr) continue;
      by_place_.find_or_add(PairMap::key(device, box), kNeeded);
      needs.push_back({.device = device, .box = box, .tile = tile, .ordinal = ordinal});
    }
    bool apart = need_different_elements(needs);
    for (Need& need : needs) need.is_only = apart && tiles_with_[need.box] == 1;
    for (const Touch& tile : reader) tiles_with_[tile.box] = 0;
    return needs;
  }

  /// Those whose elements are finished somewhere, and those that are not. What no term of a sum of
  /// one covers is zero, and so finished too.
  void sort_needs(std::vector<Need> needs, std::vector<Need>& finished, std::vector<Need>& open) {
    if (terms_.size() == 0) {
      finished = std::move(needs);
    } else if (finished_.held.empty()) {
      open = std::move(needs);
    } else {
      Holders holders(draft_.boxes, finished_);
      for (const Need& need : needs)
        (is_covered(holders, draft_.boxes[need.box]) ? finished : open).push_back(need);
    }
  }

  bool is_covered(const Holders& holders, const Box& box) {
    int dims = draft_.boxes.dims();
    std::vector<Box> missing{box}, left;
    holders.for_each_overlap(box, [&](std::int32_t at) {
      left.clear();
      for (const Box& part : missing) subtract(part, draft_.boxes[holders.box(at)], dims, left);
      missing.swap(left);
    });
    return missing.empty();
  }

  /// What collectives bring is there for the transfers of the same reader.
  void bring_finished(const std::vector<Touch>& reader, std::vector<Need>& needs) {
    if (needs.empty()) return;
    draft_.begin_round();
    exchange_value(draft_, Holders(draft_.boxes, finished_), needs);
    move_met(needs);
    transfer_from(finished_, reader, needs);
  }

  void bring_terms(const std::vector<Touch>& reader, std::vector<Need>& needs) {
    if (needs.empty()) return;
    draft_.begin_round();
    exchange_terms(draft_, terms_, needs);
    move_met(needs);
    std::vector<Need> finished, open;
    sort_needs(std::move(needs), finished, open);
    transfer_from(finished_, reader, finished);
    transfer_from(terms_, reader, open);
  }

  void transfer_from(const Terms& terms, const std::vector<Touch>& reader,
                     std::vector<Need>& needs) {
    if (needs.empty()) return;
    draft_.begin_round();
    transfer(draft_, Holders(draft_.boxes, terms), reader, needs);
    move_met(needs);
  }

  /// Notes as finished what was brought, and leaves the other needs.
  void move_met(std::vector<Need>& needs) {
    for (const Need& need : needs)
      if (need.buffer >= 0) add_finished({need.device, need.box, need.buffer});
    std::erase_if(needs, [](const Need& need) { return need.buffer >= 0; });
  }

  static constexpr std::int32_t kNeeded = -1;  // instead of a buffer: it is being brought

  Draft& draft_;
  Terms terms_;                           // what is still to be added up
  Terms finished_;                        // one term: boxes of the value itself
  PairMap by_place_;                      // device and box of what is finished, to its buffer
  std::vector<std::int32_t> tiles_with_;  // by box: tiles of the reader so far
};

}  // namespace
}  // namespace redistribution

Redistribution redistribute(const RedistributionRequest& request, const Neighbourhood& where) {
  if (auto result = redistribution::stay_in_place(request)) return std::move(*result);
  redistribution::Draft draft(request, where);
  auto reads = redistribution::Redistributor(draft).serve_all();
  return std::move(draft).finish(std::move(reads));
}

}  // namespace troika
