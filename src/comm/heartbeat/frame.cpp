#include "comm/heartbeat/frame.h"

#include <algorithm>

namespace troika {
namespace {

enum class Kind : std::uint8_t { alive = 1, news = 2, bye = 3 };

// A report takes at most 4 * 8 + 1 + 2 + kLongestCall = 275 bytes, 16 of them fit into
// kLongestFrame.
void write(WireWriter& out, const AliveFrame& frame) {
  std::size_t count = std::min(frame.groups.size(), kReportsPerFrame);
  out.number(Kind::alive).number(static_cast<std::uint8_t>(count));
  for (const GroupReport& report : std::span(frame.groups).first(count)) {
    out.number(report.group).number(report.calls).number(report.chain);
    out.number(report.milestone);
    out.number(static_cast<std::uint8_t>(report.inside)).text(report.call, kLongestCall);
  }
}

void write(WireWriter& out, const NewsFrame& frame) {
  out.number(Kind::news).text(frame.sentence, kLongestSentence);
}

void write(WireWriter& out, const ByeFrame&) { out.number(Kind::bye); }

std::optional<HeartbeatFrame> read_alive(WireReader& in) {
  AliveFrame frame;
  auto count = in.number<std::uint8_t>();
  if (count > kReportsPerFrame) return std::nullopt;
  for (int at = 0; at < count && in.good(); ++at) {
    GroupReport report;
    report.group = in.number<std::uint64_t>();
    report.calls = in.number<std::uint64_t>();
    report.chain = in.number<std::uint64_t>();
    report.milestone = in.number<std::uint64_t>();
    report.inside = in.number<std::uint8_t>() != 0;
    report.call = in.text(kLongestCall);
    frame.groups.push_back(std::move(report));
  }
  return frame;
}

std::optional<HeartbeatFrame> read(WireReader& in) {
  switch (in.number<Kind>()) {
    case Kind::alive:
      return read_alive(in);
    case Kind::news:
      return NewsFrame{in.text(kLongestSentence)};
    case Kind::bye:
      return ByeFrame{};
  }
  return std::nullopt;
}

}  // namespace

WireBytes encode(const HeartbeatFrame& frame) {
  WireWriter out;
  std::visit([&](const auto& kind) { write(out, kind); }, frame);
  return out.bytes();
}

std::optional<HeartbeatFrame> decode(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  std::optional<HeartbeatFrame> frame = read(in);
  // Bytes left over mean another version, too.
  return in.complete() ? frame : std::nullopt;
}

}  // namespace troika
