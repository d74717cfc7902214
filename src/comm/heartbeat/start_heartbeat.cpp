#include "comm/heartbeat/start_heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/hash.h"

namespace troika {
namespace {

/// A rank's first message to the others: whether it listens or why it cannot, its key, its
/// addresses.
struct Introduction {
  enum class Kind { on, off, failed } kind = Kind::on;
  SipKey key{};
  std::vector<std::string> addresses{};
  std::string failure{};
};

std::string to_text(const Introduction& own) {
  if (own.kind == Introduction::Kind::failed) return "failed " + own.failure;
  return fmt::format("{} {} {} {}", own.kind == Introduction::Kind::on ? "on" : "off", own.key[0],
                     own.key[1], fmt::join(own.addresses, " "));
}

Introduction parse_introduction(const std::string& text) {
  std::istringstream words(text);
  Introduction told;
  std::string kind;
  words >> kind;
  if (kind == "failed")
    return {.kind = Introduction::Kind::failed, .failure = text.substr(kind.size() + 1)};
  if (kind == "off") told.kind = Introduction::Kind::off;
  words >> told.key[0] >> told.key[1];
  for (std::string address; words >> address;) told.addresses.push_back(address);
  return told;
}

/// Opens the port. A rank that cannot must tell the others, because they would wait for it.
Introduction introduce(const HeartbeatOptions& options, ListeningPort& port) {
  Introduction own{.key = {random_word(), random_word()}};
  if (!options.is_on) {
    own.kind = Introduction::Kind::off;
    return own;
  }
  try {
    port = listen_for_peers(options.listen);
    own.addresses = port.addresses;
  } catch (const Error& error) {
    own.kind = Introduction::Kind::failed;
    own.failure = error.what();
  }
  return own;
}

/// Takes the key of rank 0 and the addresses of all; if one rank's heartbeat is off, all are.
void take_introductions(const std::vector<std::string>& texts, HeartbeatSettings& settings) {
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    Introduction told = parse_introduction(texts[rank]);
    if (told.kind == Introduction::Kind::failed)
      throw Error(ErrorKind::usage, fmt::format("rank {}: {}", rank, told.failure));
    if (told.kind == Introduction::Kind::off) settings.watches = false;
    if (rank == 0) settings.key = told.key;
    settings.addresses.push_back(std::move(told.addresses));
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Describes the first line in which the texts of rank 0 and another rank differ.
std::string difference(const std::string& first, const std::string& other, int rank) {
  auto a = lines_of(first), b = lines_of(other);
  auto [at, ignored] = std::ranges::mismatch(a, b);
  auto line = static_cast<std::size_t>(at - a.begin());
  auto shown = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? "'" + lines[line].substr(0, 200) + "'"
                               : std::string("no such line");
  };
  return fmt::format("line {}: rank 0 has {}, rank {} has {}", line + 1, shown(a), rank, shown(b));
}

}  // namespace

std::unique_ptr<Heartbeat> start_heartbeat(MpiWorld& world, const HeartbeatOptions& options,
                                           std::function<void(const Verdict&)> on_failure) {
  HeartbeatOptions here = options;
  // On one host the port need not be reachable from outside.
  here.listen.loopback_only = world.on_one_host();
  HeartbeatSettings settings{.rank = world.rank(),
                             .ranks = world.ranks(),
                             .times = options.times,
                             .on_failure = std::move(on_failure)};
  ListeningPort port;
  take_introductions(world.exchange(to_text(introduce(here, port))), settings);
  if (!settings.watches) port = {};
  auto heartbeat = std::make_unique<Heartbeat>(std::move(port), std::move(settings));
  // Only now: the exchange above could not have been watched.
  world.while_waiting([watch = heartbeat.get()] { watch->check(); });
  return heartbeat;
}

void leave_together(MpiWorld& world, Heartbeat& heartbeat) {
  std::vector<int> ranks(static_cast<std::size_t>(world.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  int group = heartbeat.watch({kWorldGroup, ranks});
  CallId call = heartbeat.describe(group, "the end of the run");
  // The exchange is a call like any other, so a rank that makes a different call is named. After it
  // all ranks have finished their work, and goodbyes cannot be taken for an early end.
  heartbeat.begin(call);
  world.exchange("");
  heartbeat.end(call);
  heartbeat.leave();
  // Ends the use of the heartbeat, which is destroyed before the world.
  world.while_waiting({});
}

HeartbeatTimes heartbeat_times(std::chrono::nanoseconds timeout) {
  HeartbeatTimes times;
  // Four periods, so that a few late frames are not a lost peer.
  times.silence = std::max<SteadyTime>(timeout, 4 * times.period);
  times.join = std::max(times.join, times.silence);
  // Longer than the silence, so that a rank that stopped is reported as lost, not as late.
  times.stall = std::max(times.stall, 2 * times.silence);
  return times;
}

void require_agreement(const RankVoice& voice, const std::string& subject,
                       const std::string& text) {
  auto hashes = voice.exchange(fmt::format("{} {}", subject, hash_text(text)));
  auto other = std::ranges::find_if(hashes, [&](const auto& hash) { return hash != hashes[0]; });
  if (other == hashes.end()) return;
  auto rank = static_cast<int>(other - hashes.begin());
  // Texts can be long, and only two of them are compared. All ranks take part in the exchange, so
  // all get the same error.
  bool speaks = voice.rank == 0 || voice.rank == rank;
  auto texts = voice.exchange(speaks ? subject + "\n" + text : "");
  throw Error(
      ErrorKind::usage,
      fmt::format("ranks disagree about the run: their {} differs, in {}; start all ranks with "
                  "the same files, options and version of Troika",
                  subject, difference(texts[0], texts[rank], rank)));
}

}  // namespace troika
