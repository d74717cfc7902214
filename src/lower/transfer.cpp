#include "lower/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lower/assemble_task.h"
#include "lower/communicate.h"

namespace troika {
namespace {

/// Puts needs together from pieces here and elsewhere.
class Assembler {
 public:
  Assembler(Draft& draft, Value& value, const ExchangeOptions& options)
      : draft_(draft),
        value_(value),
        terms_(value.sources(options.finished)),
        fragment_(options.fragment) {}

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
    Category category = category_of_copies(source.category);
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
    Category category = category_of_copies(value_.category);
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

}  // namespace

void transfer(Draft& draft, Value& value, const std::vector<Placed>& needs,
              const ExchangeOptions& options) {
  Assembler(draft, value, options).bring(needs);
}

}  // namespace troika
