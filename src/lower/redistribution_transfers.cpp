// Redistributions that are not collectives: parts of boxes go where they are needed.
#include <algorithm>

#include "lower/redistribution_nearest.h"

namespace troika::redistribution {
namespace {

constexpr std::int32_t kHere = -1;

class Transfers {
 public:
  Transfers(Draft& draft, const Holders& holders, std::span<const Touch> tiles)
      : draft_(draft),
        holders_(holders),
        tiles_(tiles),
        nearest_(draft, holders),
        received_on_(draft.devices, -1) {
    find_homes();
    find_families();
  }

  void bring(std::vector<Need>& needs) {
    std::vector<std::int32_t> ends;
    for (const Need& need : needs) {
      find_parts(need);
      ends.push_back(static_cast<std::int32_t>(parts_.size()));
    }
    find_tile_places();
    draft_.reserve_calls(sent_.size(), sent_.size() + received_.size());
    for (const Sent& sent : sent_) send(sent);
    for (std::size_t at = 0; at < needs.size(); ++at) {
      std::int32_t begin = at == 0 ? 0 : ends[at - 1];
      needs[at].buffer = put_together(needs[at], std::span(parts_).subspan(begin, ends[at] - begin),
                                      {Phase::assemble, at});
    }
  }

 private:
  /// A holder that has elements of a need.
  struct Candidate {
    std::int32_t rank;  // of the term
    bool is_elsewhere;
    std::int64_t share;     // elements of the need that it has
    std::int32_t distance;  // behind the device's own place in the term
    std::int32_t held;
  };
  /// A box of the tensor, out of a buffer on the device or of what it receives.
  struct Part {
    std::int32_t term, box;
    std::int32_t outer;     // the box of the buffer, or of the message
    std::int32_t buffer;    // or, if received, none yet
    std::int32_t received;  // index; kHere: it is on the device
  };
  /// The terms [begin, end) of a contribution.
  struct Family {
    std::int32_t begin, end;
  };
  /// A part of a buffer that other devices need.
  struct Sent {
    std::int32_t held, box;
    std::int32_t first, last;  // received
  };
  struct Received {
    std::int32_t term, box, tile;
    std::int32_t next_sent, next_on_device;
    std::int32_t buffer;
  };

  /// The place of a box in its term is that of its first holder; a device's home in a term is the
  /// place of the first box that it holds.
  void find_homes() {
    const Terms& terms = holders_.terms();
    places_.resize(terms.held.size());
    for (std::int32_t at = 0; at < holders_.size(); ++at) {
      std::span<const std::int32_t> run = holders_.of(at);
      for (std::size_t first = 0, next = 0; next < run.size(); ++next) {
        if (holders_.term_of(run[next]) != holders_.term_of(run[first])) first = next;
        places_[run[next]] = run[first];
      }
    }
    homes_.reserve(terms.held.size());
    for (std::int32_t id = 0; id < std::ssize(terms.held); ++id)
      homes_.find_or_add(PairMap::key(holders_.term_of(id), terms.held[id].device), places_[id]);
  }

  /// Terms of one contribution stand one behind the other.
  void find_families() {
    const Terms& terms = holders_.terms();
    for (std::int32_t term = 0; term < terms.size(); ++term) {
      if (term == 0 || terms.from[term - 1] != terms.from[term]) families_.push_back({term, term});
      ++families_.back().end;
      family_of_.push_back(static_cast<std::int32_t>(families_.size()) - 1);
    }
  }

  std::int32_t distance(std::int32_t term, std::int32_t id, std::int32_t device) const {
    const std::int32_t* home = homes_.find(PairMap::key(term, device));
    std::int32_t begin = holders_.terms().begin(term), count = holders_.terms().ends[term] - begin;
    return (places_[id] - (home == nullptr ? begin : *home) + count) % count;
  }

  void find_parts(const Need& need) {
    find_candidates(need);
    need_ = &need;
    for (std::size_t at = 0; at < candidates_.size();) {
      std::int32_t rank = candidates_[at].rank;
      missing_.assign(1, draft_.boxes[need.box]);
      for (; at < candidates_.size() && candidates_[at].rank == rank; ++at)
        if (!missing_.empty()) take(candidates_[at].held);
    }
  }

  /// By term, and in a term the device's own first, then those that have most.
  void find_candidates(const Need& need) {
    candidates_.clear();
    Box wanted = draft_.boxes[need.box];
    int dims = draft_.boxes.dims();
    holders_.for_each_overlap(wanted, [&](std::int32_t at) {
      std::int64_t share = elements(intersect(wanted, draft_.boxes[holders_.box(at)], dims), dims);
      std::span<const std::int32_t> run = holders_.of(at);
      while (!run.empty()) {
        std::int32_t term = holders_.term_of(run[0]);
        std::size_t length = 1;
        while (length < run.size() && holders_.term_of(run[length]) == term) ++length;
        std::int32_t held = nearest_.find(run.first(length), need);
        candidates_.push_back({term, holders_.terms().held[held].device != need.device, share,
                               distance(term, held, need.device), held});
        run = run.subspan(length);
      }
    });
    rank_terms(need);
    std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
      if (a.rank != b.rank) return a.rank < b.rank;
      if (a.is_elsewhere != b.is_elsewhere) return b.is_elsewhere;
      if (a.share != b.share) return a.share > b.share;
      return a.distance != b.distance ? a.distance < b.distance : a.held < b.held;
    });
  }

  /// Of each contribution the device's own term first and the others behind it, wrapping around;
  /// but in the order of the terms where that is asked for, and where other devices need the same
  /// sum: its bits depend on the order.
  void rank_terms(const Need& need) {
    if (holders_.terms().size() == 1 || draft_.request.fixed_order || !need.is_only) return;
    firsts_.clear();
    for (const Family& family : families_) firsts_.push_back(family.end);
    for (const Candidate& candidate : candidates_) {
      std::int32_t& first = firsts_[family_of_[candidate.rank]];
      if (!candidate.is_elsewhere) first = std::min(first, candidate.rank);
    }
    for (Candidate& candidate : candidates_) {
      std::int32_t at = family_of_[candidate.rank];
      auto [begin, end] = families_[at];
      std::int32_t count = end - begin;
      candidate.rank = begin + (candidate.rank - firsts_[at] + count) % count;
    }
  }

  /// Takes what is missing of a term from one holder.
  void take(std::int32_t id) {
    const Held& held = holders_.terms().held[id];
    Box outer = draft_.boxes[held.box];
    int dims = draft_.boxes.dims();
    left_.clear();
    for (const Box& box : missing_) {
      if (overlap(box, outer, dims)) {
        Box shared = intersect(box, outer, dims);
        std::int32_t term = holders_.term_of(id);
        if (held.device == need_->device)
          parts_.push_back({term, draft_.boxes.find_or_add(shared), held.box, held.buffer, kHere});
        else
          take_from_others(id, term, shared);
      }
      subtract(box, outer, dims, left_);
    }
    missing_.swap(left_);
  }

  /// What is sent to the device for an earlier need is not sent again.
  void take_from_others(std::int32_t id, std::int32_t term, const Box& wanted) {
    int dims = draft_.boxes.dims();
    open_.assign(1, wanted);
    for (std::int32_t at = received_on_[need_->device]; at >= 0 && !open_.empty();
         at = received_[at].next_on_device) {
      if (received_[at].term != term) continue;
      Box there = draft_.boxes[received_[at].box];
      still_open_.clear();
      for (const Box& box : open_) {
        if (overlap(box, there, dims))
          parts_.push_back({term, draft_.boxes.find_or_add(intersect(box, there, dims)),
                            received_[at].box, -1, at});
        subtract(box, there, dims, still_open_);
      }
      open_.swap(still_open_);
    }
    for (const Box& box : open_) {
      std::int32_t part = draft_.boxes.find_or_add(box);
      parts_.push_back({term, part, part, -1, note_transfer(id, part)});
    }
  }

  std::int32_t note_transfer(std::int32_t id, std::int32_t box) {
    auto received = static_cast<std::int32_t>(received_.size());
    received_.push_back({.term = holders_.term_of(id),
                         .box = box,
                         .tile = need_->tile,
                         .next_sent = -1,
                         .next_on_device = received_on_[need_->device],
                         .buffer = -1});
    received_on_[need_->device] = received;
    std::int32_t& known =
        known_sent_.find_or_add(PairMap::key(id, box), static_cast<std::int32_t>(sent_.size()));
    if (known == std::ssize(sent_)) {
      sent_.push_back({id, box, received, received});
    } else {
      received_[sent_[known].last].next_sent = received;
      sent_[known].last = received;
    }
    return received;
  }

  /// By device: its first tile in the reader.
  void find_tile_places() {
    tile_places_.assign(draft_.devices, 0);
    for (std::size_t at = tiles_.size(); at-- > 0;)
      tile_places_[tiles_[at].device] = static_cast<std::int32_t>(at);
  }

  /// Tiles that receive what a device sends, in the order of the reader's tiles behind the device's
  /// own, wrapping around.
  void sort_receivers(const Sent& sent, std::int32_t device) {
    auto count = static_cast<std::int32_t>(tiles_.size());
    receivers_.clear();
    for (std::int32_t at = sent.first; at >= 0; at = received_[at].next_sent)
      receivers_.push_back({(received_[at].tile - tile_places_[device] + count) % count, at});
    std::ranges::sort(receivers_);
  }

  /// A device sends to the tiles behind its own first, and then receives in the order of its needs.
  void send(const Sent& sent) {
    const Held& held = holders_.terms().held[sent.held];
    sort_receivers(sent, held.device);
    auto local = static_cast<std::uint64_t>(receivers_[0].first);
    std::int32_t from = held.buffer;
    if (sent.box != held.box) from = draft_.add_copy(from, sent.box, {Phase::prepare, local});
    draft_.add_message(Collective::broadcast, draft_.boxes.elements(sent.box));
    draft_.add_member(from, local);
    for (auto [distance, at] : receivers_) {
      received_[at].buffer =
          draft_.add_buffer(PlacedBuffer::Kind::value, tiles_[received_[at].tile].device, sent.box);
      draft_.add_member(received_[at].buffer, kBehindSends + static_cast<std::uint64_t>(at));
    }
    draft_.add_calls();
  }

  std::int32_t buffer_of(const Part& part) const {
    return part.received == kHere ? part.buffer : received_[part.received].buffer;
  }

  std::int32_t put_together(const Need& need, std::span<const Part> parts, Turn turn) {
    if (parts.empty()) return draft_.add_buffer(PlacedBuffer::Kind::zeros, need.device, need.box);
    if (parts.size() == 1 && parts[0].outer == need.box) return buffer_of(parts[0]);
    if (draft_.request.fixed_order && !draft_.request.greatest)
      return add_pairwise(need, parts, turn);
    return assemble(need, parts, turn);
  }

  std::int32_t assemble(const Need& need, std::span<const Part> parts, Turn turn) {
    for (const Part& part : parts) draft_.add_input(buffer_of(part), part.box);
    std::int32_t out = draft_.add_buffer(PlacedBuffer::Kind::value, need.device, need.box);
    draft_.add_step(Step::Kind::assemble, out, turn);
    return out;
  }

  /// Term 2i with 2i+1, those pairs with each other, and so on; terms that have nothing are zero.
  std::int32_t add_pairwise(const Need& need, std::span<const Part> parts, Turn turn) {
    struct Summand {
      std::int32_t term, buffer;
    };
    std::vector<Summand> summands;
    for (std::size_t at = 0; at < parts.size();) {
      std::size_t end = at;
      while (end < parts.size() && parts[end].term == parts[at].term) ++end;
      std::span<const Part> own = parts.subspan(at, end - at);
      bool is_whole = own.size() == 1 && own[0].outer == need.box;
      summands.push_back({own[0].term, is_whole ? buffer_of(own[0]) : assemble(need, own, turn)});
      at = end;
    }
    while (summands.size() > 1) {
      std::vector<Summand> sums;
      for (auto [term, buffer] : summands) {
        if (sums.empty() || sums.back().term != term / 2) {
          sums.push_back({term / 2, buffer});
          continue;
        }
        draft_.add_input(sums.back().buffer, need.box);
        draft_.add_input(buffer, need.box);
        sums.back().buffer = draft_.add_buffer(PlacedBuffer::Kind::value, need.device, need.box);
        draft_.add_step(Step::Kind::sum, sums.back().buffer, turn);
      }
      summands = std::move(sums);
    }
    return summands[0].buffer;
  }

  static constexpr std::uint64_t kBehindSends = std::uint64_t{1} << 32;

  Draft& draft_;
  const Holders& holders_;
  std::span<const Touch> tiles_;
  NearestHolder nearest_;
  std::vector<std::int32_t> places_;  // by held
  PairMap homes_;                     // by term and device
  std::vector<Family> families_;
  std::vector<std::int32_t> family_of_;  // by term
  std::vector<std::int32_t> firsts_;     // by family: the device's own term
  std::vector<Candidate> candidates_;
  std::vector<Part> parts_;
  std::vector<Sent> sent_;
  PairMap known_sent_;  // by held and box
  std::vector<Received> received_;
  std::vector<std::int32_t> received_on_;                         // by device: the last one
  std::vector<std::int32_t> tile_places_;                         // by device
  std::vector<std::pair<std::int32_t, std::int32_t>> receivers_;  // distance, received
  const Need* need_ = nullptr;  // the one whose parts are looked for
  std::vector<Box> missing_, left_, open_, still_open_;
};

}  // namespace

void transfer(Draft& draft, const Holders& holders, std::span<const Touch> tiles,
              std::vector<Need>& needs) {
  Transfers(draft, holders, tiles).bring(needs);
}

}  // namespace troika::redistribution
