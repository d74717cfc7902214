#include "comm/heartbeat/sealed_link.h"

#include <algorithm>

#include "comm/heartbeat/frame.h"

namespace troika {
namespace {

constexpr std::uint32_t kMagic = 0x4b525431;  // "1TRK"
// Sizes on the wire, in bytes. A proof is one SipHash value; a greeting has the magic number, two
// ranks, a nonce and a proof; an answer has a nonce and a proof.
constexpr std::size_t kProof = 8;
constexpr std::size_t kGreeting = 4 + 4 + 4 + 16 + kProof;
constexpr std::size_t kAnswer = 16 + kProof;
// No rank of this run sends so much at once.
constexpr std::size_t kLongestInput = 64 * kLongestFrame;

/// Part of each proof, so that a proof for one purpose is not valid for another.
enum class Purpose : std::uint8_t { greeting, answer, key, frame };

std::uint64_t prove(const SipKey& key, Purpose purpose, std::uint64_t number,
                    std::span<const std::byte> bytes) {
  WireWriter text;
  text.number(purpose).number(number).raw(bytes);
  return siphash(key, text.bytes());
}

/// A key for one direction of one connection, so that recorded frames are valid neither in another
/// connection nor sent back to their sender.
SipKey derive(const SipKey& key, std::uint64_t direction, std::span<const std::byte> transcript) {
  return {prove(key, Purpose::key, 2 * direction, transcript),
          prove(key, Purpose::key, 2 * direction + 1, transcript)};
}

WireBytes greeting_body(int from, int to, const Nonce& nonce) {
  WireWriter body;
  body.number(kMagic)
      .number(static_cast<std::uint32_t>(from))
      .number(static_cast<std::uint32_t>(to));
  return body.number(nonce[0]).number(nonce[1]).bytes();
}

WireBytes joined(std::span<const std::byte> a, std::span<const std::byte> b) {
  return WireWriter().raw(a).raw(b).bytes();
}

void drop_front(WireBytes& bytes, std::size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

SealedLink SealedLink::to(int peer, const LinkSettings& settings) {
  SealedLink link(settings, Stage::awaits_answer);
  link.peer_ = peer;
  WireBytes body = greeting_body(settings.rank, peer, settings.nonce);
  std::uint64_t proof = prove(settings.key, Purpose::greeting, 0, body);
  link.output_ = WireWriter().raw(body).number(proof).bytes();
  return link;
}

SealedLink SealedLink::from_anybody(const LinkSettings& settings) {
  return SealedLink(settings, Stage::awaits_greeting);
}

bool SealedLink::receive(std::span<const std::byte> bytes) {
  if (broken_ || input_.size() + bytes.size() > kLongestInput) return false;
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  // Each reader consumes one complete item; false: it needs more bytes, or the link is broken.
  bool more = true;
  while (more && !broken_) {
    switch (stage_) {
      case Stage::awaits_greeting:
        more = read_greeting();
        break;
      case Stage::awaits_answer:
        more = read_answer();
        break;
      case Stage::open:
        more = read_frame();
        break;
    }
  }
  return !broken_;
}

bool SealedLink::read_greeting() {
  if (input_.size() < kGreeting) return false;
  std::span<const std::byte> all(input_);
  auto body = all.first(kGreeting - kProof);
  WireReader in(all.first(kGreeting));
  auto magic = in.number<std::uint32_t>();
  auto from = in.number<std::uint32_t>(), to = in.number<std::uint32_t>();
  // The peer's nonce is used as part of `body`.
  in.number<std::uint64_t>(), in.number<std::uint64_t>();
  broken_ = in.number<std::uint64_t>() != prove(settings_.key, Purpose::greeting, 0, body) ||
            magic != kMagic || to != static_cast<std::uint32_t>(settings_.rank) || from == to ||
            from >= static_cast<std::uint32_t>(settings_.ranks);
  if (broken_) return false;
  // Not yet proven: the greeting may be a recorded one. The first sealed frame proves the peer,
  // because its key depends on this side's fresh nonce (see heard_).
  peer_ = static_cast<int>(from);
  WireBytes nonce = WireWriter().number(settings_.nonce[0]).number(settings_.nonce[1]).bytes();
  WireBytes transcript = joined(body, nonce);
  std::uint64_t proof = prove(settings_.key, Purpose::answer, 0, transcript);
  output_ = WireWriter().raw(nonce).number(proof).bytes();
  drop_front(input_, kGreeting);
  open(transcript, false);
  return true;
}

bool SealedLink::read_answer() {
  if (input_.size() < kAnswer) return false;
  // The proof covers this side's fresh nonce, so the peer is proven without a further frame.
  WireBytes nonce(input_.begin(), input_.begin() + 16);
  WireBytes transcript = joined(greeting_body(settings_.rank, peer_, settings_.nonce), nonce);
  WireReader in(std::span<const std::byte>(input_).subspan(16, kProof));
  broken_ = in.number<std::uint64_t>() != prove(settings_.key, Purpose::answer, 0, transcript);
  if (broken_) return false;
  drop_front(input_, kAnswer);
  heard_ = true;
  open(transcript, true);
  return true;
}

void SealedLink::open(std::span<const std::byte> transcript, bool connected) {
  // Direction 0 is from the connecting side. Both sides have the same transcript.
  outgoing_key_ = derive(settings_.key, connected ? 0 : 1, transcript);
  incoming_key_ = derive(settings_.key, connected ? 1 : 0, transcript);
  stage_ = Stage::open;
  for (const WireBytes& frame : waiting_) seal(frame);
  waiting_.clear();
}

bool SealedLink::read_frame() {
  WireReader in(input_);
  // A frame on the wire: length (2 bytes), body, proof. The length is limited before the body is
  // waited for, so that a broken stream does not fill memory.
  std::size_t length = in.number<std::uint16_t>();
  broken_ = in.good() && length > kLongestFrame;
  if (broken_ || input_.size() < 2 + length + kProof) return false;
  auto frame = std::span<const std::byte>(input_).subspan(2, length);
  WireReader end(std::span<const std::byte>(input_).subspan(2 + length, kProof));
  broken_ =
      end.number<std::uint64_t>() != prove(incoming_key_, Purpose::frame, incoming_count_, frame);
  if (broken_) return false;
  // The number is part of the proof, so a frame that is repeated, left out or out of order fails.
  ++incoming_count_;
  heard_ = true;
  arrived_.emplace_back(frame.begin(), frame.end());
  drop_front(input_, 2 + length + kProof);
  return true;
}

std::optional<WireBytes> SealedLink::next_frame() {
  if (arrived_.empty()) return std::nullopt;
  WireBytes frame = std::move(arrived_.front());
  arrived_.erase(arrived_.begin());
  return frame;
}

void SealedLink::send(std::span<const std::byte> frame) {
  if (stage_ == Stage::open) {
    seal(frame);
  } else {
    waiting_.emplace_back(frame.begin(), frame.end());
  }
}

void SealedLink::seal(std::span<const std::byte> frame) {
  std::uint64_t proof = prove(outgoing_key_, Purpose::frame, outgoing_count_++, frame);
  WireBytes sealed = WireWriter()
                         .number(static_cast<std::uint16_t>(frame.size()))
                         .raw(frame)
                         .number(proof)
                         .bytes();
  output_.insert(output_.end(), sealed.begin(), sealed.end());
}

WireBytes SealedLink::take_output() { return std::exchange(output_, {}); }

}  // namespace troika
