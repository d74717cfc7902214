#include "lower/obtain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "lower/communicate.h"
#include "lower/exchange.h"

namespace troika {
namespace {

/// A part of a piece, as it is asked for by name: the buffer and the box in the tensor.
struct Part {
  BufferId buffer;
  Region region;
};

/// Puts needs together from pieces here and elsewhere.
class Assembler {
 public:
  Assembler(Draft& draft, Value& value, const std::vector<std::vector<ValuePiece>>& terms,
            const std::string& fragment)
      : draft_(draft), value_(value), terms_(terms), fragment_(fragment) {}

  void bring(const std::vector<Placed>& needs) {
    const std::vector<Assembly>& assemblies =
        draft_.fragments.assemblies(spread_of(terms_), needs);
    for (std::size_t at = 0; at < needs.size(); ++at) note_transfers(needs[at], assemblies[at]);
    for (const Sent& sent : sent_) send(sent);
    for (std::size_t at = 0; at < needs.size(); ++at)
      value_.finished.push_back({needs[at], put_together(needs[at], assemblies[at])});
  }

 private:
  /// A part of a piece that other devices need.
  struct Sent {
    BufferId from;
    Region piece, region;
    std::vector<DeviceId> to;
  };

  const ValuePiece& piece_of(const Taken& taken) const { return terms_[taken.term][taken.piece]; }

  void note_transfers(const Placed& need, const Assembly& assembly) {
    for (const Taken& taken : assembly) {
      const ValuePiece& piece = piece_of(taken);
      if (piece.place.device == need.device) continue;
      auto same = std::ranges::find_if(sent_, [&](const Sent& sent) {
        return sent.from == piece.buffer && sent.region == taken.region;
      });
      if (same == sent_.end())
        same = sent_.insert(sent_.end(), {piece.buffer, piece.place.region, taken.region, {}});
      if (std::ranges::count(same->to, need.device) == 0) same->to.push_back(need.device);
    }
  }

  void send(const Sent& sent) {
    BufferId from = sent.from;
    if (sent.region != sent.piece)
      from = add_copy(draft_, {fragment_, from, within(sent.region, sent.piece)});
    const BufferSpec source = draft_.tasks[from];
    CommunicationRequest request{.fragment = fragment_,
                                 .name = source.name,
                                 .kind = Collective::broadcast,
                                 .buffers = {from}};
    for (DeviceId device : sent.to) {
      BufferId copy = add_buffer(draft_, {fmt::format("{} for {}", source.name, device.value),
                                          source.spec, device, source.category});
      if (draft_.tasks[copy].category == Category::parameter)
        draft_.tasks[copy].category = Category::workspace;
      request.buffers.push_back(copy);
      received_.push_back({sent.from, sent.region, device, copy});
    }
    add_communication(draft_, request);
  }

  /// The part of a piece on the device that needs it.
  Part part_for(const Placed& need, const Taken& taken) const {
    const ValuePiece& piece = piece_of(taken);
    if (piece.place.device == need.device) return {piece.buffer, piece.place.region};
    auto found = std::ranges::find_if(received_, [&](const Received& received) {
      return received.from == piece.buffer && received.region == taken.region &&
             received.device == need.device;
    });
    return {found->buffer, taken.region};
  }

  BufferId put_together(const Placed& need, const Assembly& assembly) {
    TensorSpec spec{need.region.shape(), value_.spec.dtype};
    if (assembly.empty()) return zeros_buffer(draft_, spec, need.device);
    if (assembly.size() == 1) {
      Part only = part_for(need, assembly[0]);
      if (only.region == need.region) return only.buffer;
    }
    Assemble op{.shape = {spec.shape.begin(), spec.shape.end()},
                .greatest = value_.combine == Combine::max};
    Task task{.device = need.device, .key = {{}, {}, Phase::forward, {}}};
    for (const Taken& taken : assembly) {
      Part part = part_for(need, taken);
      add_box(op, {within(taken.region, part.region), within(taken.region, need.region)});
      task.key.inputs.push_back(draft_.tasks[part.buffer].spec);
      task.uses.push_back({part.buffer, Access::read});
    }
    task.key.op = op;
    task.name = fmt::format("{}{} for {}", value_.name, to_string(need.region), need.device.value);
    Category category =
        value_.category == Category::parameter ? Category::workspace : value_.category;
    BufferId whole = add_buffer(draft_, {task.name, spec, need.device, category});
    task.uses.push_back({whole, Access::write});
    add_task(draft_, fragment_, std::move(task));
    return whole;
  }

  struct Received {
    BufferId from;
    Region region;
    DeviceId device;
    BufferId buffer;
  };

  Draft& draft_;
  Value& value_;
  const std::vector<std::vector<ValuePiece>> terms_;
  const std::string& fragment_;
  std::vector<Sent> sent_;
  std::vector<Received> received_;
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
  Assemble op{.shape = {first.spec.shape.begin(), first.spec.shape.end()}, .greatest = true};
  Task task{.name = name + " greatest", .device = first.device};
  for (BufferId part : parts) {
    add_box(op, {whole, whole});
    task.key.inputs.push_back(first.spec);
    task.uses.push_back({part, Access::read});
  }
  task.key.op = op;
  BufferId greatest = add_buffer(draft, {name, first.spec, first.device, first.category});
  task.uses.push_back({greatest, Access::write});
  add_task(draft, fragment, std::move(task));
  return greatest;
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
    piece.buffer = value.combine == Combine::sum
                       ? sum_of(draft, fragment, value.name, parts)
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
