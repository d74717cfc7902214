#include "lower/obtain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "lower/assemble_task.h"
#include "lower/communicate.h"
#include "lower/exchange.h"

namespace troika {
namespace {

/// Puts needs together from pieces here and elsewhere.
class Assembler {
 public:
  Assembler(Draft& draft, Value& value, const std::vector<std::vector<ValuePiece>>& terms,
            const std::string& fragment)
      : draft_(draft), value_(value), terms_(terms), fragment_(fragment) {}

  void bring(const std::vector<Placed>& needs) {
    const std::vector<Assembly>& assemblies = draft_.fragments.assemblies(spread_of(terms_), needs);
    std::vector<std::vector<Part>> parts;
    for (std::size_t at = 0; at < needs.size(); ++at)
      parts.push_back(parts_of(needs[at], assemblies[at]));
    for (const Sent& sent : sent_) send(sent);
    for (std::size_t at = 0; at < needs.size(); ++at)
      value_.finished.push_back({needs[at], put_together(needs[at], parts[at])});
  }

 private:
  static constexpr std::size_t kHere = static_cast<std::size_t>(-1);

  /// A box of the tensor, out of a piece on the device or of what it receives.
  struct Part {
    Region region;
    BufferId piece{};
    Region outer;                  ///< What the piece, or the message, has.
    std::size_t received = kHere;  ///< Index into received_.
  };
  /// A part of a piece that other devices need.
  struct Sent {
    BufferId from;
    Region piece, region;
    std::vector<std::size_t> received;
  };
  struct Received {
    std::size_t term;
    Region region;
    DeviceId device;
    BufferId buffer{};
  };

  const ValuePiece& piece_of(const Taken& taken) const { return terms_[taken.term][taken.piece]; }

  /// What is sent to the device for an earlier need is not sent again.
  std::vector<Part> parts_of(const Placed& need, const Assembly& assembly) {
    std::vector<Part> parts;
    for (const Taken& taken : assembly) {
      const ValuePiece& piece = piece_of(taken);
      if (piece.place.device == need.device) {
        parts.push_back({taken.region, piece.buffer, piece.place.region});
        continue;
      }
      std::vector<Region> open{taken.region};
      for (std::size_t at : received_on_[need.device]) {
        if (received_[at].term != taken.term) continue;
        std::vector<Region> left;
        for (const Region& box : open) {
          Region shared = intersect(box, received_[at].region);
          if (!shared.empty()) parts.push_back({shared, {}, received_[at].region, at});
          std::ranges::move(subtract(box, received_[at].region), std::back_inserter(left));
        }
        open = std::move(left);
      }
      for (const Region& box : open)
        parts.push_back({box, {}, box, note_transfer(taken, box, need.device)});
    }
    return parts;
  }

  std::size_t note_transfer(const Taken& taken, const Region& box, DeviceId to) {
    const ValuePiece& piece = piece_of(taken);
    auto same = std::ranges::find_if(
        sent_, [&](const Sent& sent) { return sent.from == piece.buffer && sent.region == box; });
    if (same == sent_.end())
      same = sent_.insert(sent_.end(), {piece.buffer, piece.place.region, box, {}});
    received_.push_back({taken.term, box, to});
    received_on_[to].push_back(received_.size() - 1);
    same->received.push_back(received_.size() - 1);
    return received_.size() - 1;
  }

  void send(const Sent& sent) {
    BufferId from = sent.from;
    if (sent.region != sent.piece)
      from = add_copy(draft_, {fragment_, from, within(sent.region, sent.piece)});
    const BufferSpec source = draft_.tasks[from];
    Category category =
        source.category == Category::parameter ? Category::workspace : source.category;
    CommunicationRequest request{.fragment = fragment_,
                                 .name = source.name,
                                 .kind = Collective::broadcast,
                                 .buffers = {from}};
    for (std::size_t at : sent.received) {
      Received& received = received_[at];
      received.buffer =
          add_buffer(draft_, {fmt::format("{} for {}", source.name, received.device.value),
                              source.spec, received.device, category});
      request.buffers.push_back(received.buffer);
    }
    add_communication(draft_, request);
  }

  BufferId buffer_of(const Part& part) const {
    return part.received == kHere ? part.piece : received_[part.received].buffer;
  }

  BufferId put_together(const Placed& need, const std::vector<Part>& parts) {
    TensorSpec spec{need.region.shape(), value_.spec.dtype};
    if (parts.empty()) return zeros_buffer(draft_, spec, need.device);
    if (parts.size() == 1 && parts[0].outer == need.region) return buffer_of(parts[0]);
    std::vector<AssembledPart> assembled;
    for (const Part& part : parts)
      assembled.push_back(
          {buffer_of(part), within(part.region, part.outer), within(part.region, need.region)});
    std::string name =
        fmt::format("{}{} for {}", value_.name, to_string(need.region), need.device.value);
    Category category =
        value_.category == Category::parameter ? Category::workspace : value_.category;
    return add_assemble(draft_,
                        {.fragment = fragment_,
                         .name = name,
                         .spec = spec,
                         .device = need.device,
                         .category = category,
                         .greatest = value_.combine == Combine::max},
                        assembled);
  }

  Draft& draft_;
  Value& value_;
  const std::vector<std::vector<ValuePiece>> terms_;
  const std::string& fragment_;
  std::vector<Sent> sent_;
  std::vector<Received> received_;
  std::map<DeviceId, std::vector<std::size_t>> received_on_;
};

bool have_same_places(const std::vector<ValuePiece>& a, const std::vector<ValuePiece>& b) {
  auto is_in = [](const ValuePiece& piece, const std::vector<ValuePiece>& pieces) {
    return std::ranges::find(pieces, piece.place, &ValuePiece::place) != pieces.end();
  };
  return a.size() == b.size() &&
         std::ranges::all_of(a, [&](const ValuePiece& piece) { return is_in(piece, b); });
}

/// Needs that no finished piece answers, each once.
std::vector<Placed> open_needs(const Value& value, const std::vector<Placed>& needs) {
  std::vector<Placed> open;
  for (const Placed& need : needs) {
    bool known = find_finished(value, need).valid() || std::ranges::count(open, need) > 0;
    if (!known) open.push_back(need);
  }
  return open;
}

/// Those whose elements are finished somewhere, or those that are not. What no piece of a sum of
/// one covers is zero, and so finished too.
std::vector<Placed> select(const Value& value, const std::vector<Placed>& needs, bool finished) {
  std::vector<Placed> chosen;
  for (const Placed& need : needs)
    if ((value.terms.empty() || is_finished(value, need.region)) == finished)
      chosen.push_back(need);
  return chosen;
}

/// The greatest of each element of buffers on one device.
BufferId greatest_of(Draft& draft, const std::string& fragment, const std::string& name,
                     const std::vector<BufferId>& parts) {
  const BufferSpec first = draft.tasks[parts[0]];
  Region whole = Region::whole(first.spec.shape);
  std::vector<AssembledPart> all;
  for (BufferId part : parts) all.push_back({part, whole, whole});
  return add_assemble(draft,
                      {.fragment = fragment,
                       .name = name + " greatest",
                       .spec = first.spec,
                       .device = first.device,
                       .category = first.category,
                       .greatest = true},
                      all);
}

/// A sum of one is finished.
void finish(Value& value) {
  for (const ValuePiece& piece : value.terms[0])
    if (std::ranges::count(value.finished, piece) == 0) value.finished.push_back(piece);
  value.terms.clear();
}

void bring(Draft& draft, Value& value, const std::vector<Placed>& needs, bool finished,
           const std::string& fragment) {
  if (needs.empty()) return;
  std::vector<Placed> left = exchange(draft, value, needs, {finished, fragment});
  if (left.empty()) return;
  Assembler(draft, value, value.sources(finished), fragment).bring(left);
}

/// Terms that have the same pieces, as one.
std::vector<ValuePiece> merge(Draft& draft, const Value& value,
                              const std::vector<std::vector<ValuePiece>>& group,
                              const std::string& fragment) {
  std::vector<ValuePiece> merged = group[0];
  if (group.size() == 1) return merged;
  for (ValuePiece& piece : merged) {
    std::vector<BufferId> parts;
    for (const std::vector<ValuePiece>& term : group)
      parts.push_back(std::ranges::find(term, piece.place, &ValuePiece::place)->buffer);
    piece.buffer = value.combine == Combine::sum ? sum_of(draft, fragment, value.name, parts)
                                                 : greatest_of(draft, fragment, value.name, parts);
  }
  return merged;
}

/// For a fixed order: what several operators contribute to one shard is added up first, because
/// which shards lie on one device depends on their number. Contributions of equally many terms have
/// them in the order of the shards.
void merge_runs(Draft& draft, Value& value, const std::string& fragment) {
  std::size_t count = value.runs.size(), length = count > 0 ? value.runs[0] : 0;
  bool alike = std::ranges::count(value.runs, length) == std::ssize(value.runs) &&
               count * length == value.terms.size();
  if (count < 2 || !alike) return;
  for (std::size_t at = length; at < value.terms.size(); ++at)
    if (!have_same_places(value.terms[at], value.terms[at % length])) return;
  std::vector<std::vector<ValuePiece>> by_shard;
  for (std::size_t shard = 0; shard < length; ++shard) {
    std::vector<std::vector<ValuePiece>> group;
    for (std::size_t run = 0; run < count; ++run)
      group.push_back(value.terms[run * length + shard]);
    by_shard.push_back(merge(draft, value, group, fragment));
  }
  value.terms = std::move(by_shard);
}

}  // namespace

void merge_terms(Draft& draft, Value& value, const std::string& fragment) {
  if (draft.request.strategy->sync.fixed_order) merge_runs(draft, value, fragment);
  value.runs.clear();
  std::erase_if(value.terms, [](const std::vector<ValuePiece>& term) { return term.empty(); });
  std::vector<std::vector<std::vector<ValuePiece>>> groups;
  for (std::vector<ValuePiece>& term : value.terms) {
    auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return have_same_places(group[0], term); });
    if (same == groups.end())
      groups.push_back({std::move(term)});
    else
      same->push_back(std::move(term));
  }
  value.terms.clear();
  for (const auto& group : groups) value.terms.push_back(merge(draft, value, group, fragment));
}

std::vector<BufferId> obtain(Draft& draft, Value& value, const std::vector<Placed>& needs,
                             const std::string& fragment) {
  merge_terms(draft, value, fragment);
  if (value.terms.size() == 1) finish(value);
  std::vector<Placed> open = open_needs(value, needs);
  std::vector<Placed> unfinished = select(value, open, false);
  bring(draft, value, select(value, open, true), true, fragment);
  bring(draft, value, unfinished, false, fragment);
  std::vector<BufferId> buffers;
  for (const Placed& need : needs) buffers.push_back(find_finished(value, need));
  return buffers;
}

}  // namespace troika
