#include "comm/heartbeat/start_heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/hash.h"

namespace troika {
namespace {

/// One word per item: the key, then the addresses.
std::string introduction(const SipKey& key, const std::vector<std::string>& addresses) {
  return fmt::format("{} {} {}", key[0], key[1], fmt::join(addresses, " "));
}

void read_introduction(const std::string& text, HeartbeatSettings& settings) {
  std::istringstream words(text);
  SipKey key{};
  words >> key[0] >> key[1];
  if (settings.addresses.empty()) settings.key = key;  // rank 0's
  auto& addresses = settings.addresses.emplace_back();
  for (std::string address; words >> address;) addresses.push_back(address);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

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

std::unique_ptr<Heartbeat> start_heartbeat(MpiWorld& world, HeartbeatTimes times,
                                           std::function<void(const Verdict&)> on_failure) {
  ListeningPort port = listen_for_peers(world.on_one_host());
  HeartbeatSettings settings{.rank = world.rank(),
                             .ranks = world.ranks(),
                             .times = times,
                             .on_failure = std::move(on_failure)};
  SipKey own{random_word(), random_word()};
  for (const std::string& text : world.exchange(introduction(own, port.addresses))) {
    read_introduction(text, settings);
  }
  auto heartbeat = std::make_unique<Heartbeat>(std::move(port), std::move(settings));
  world.while_waiting([watch = heartbeat.get()] { watch->check(); });
  return heartbeat;
}

void leave_together(MpiWorld& world, Heartbeat& heartbeat) {
  std::vector<int> ranks(static_cast<std::size_t>(world.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  int group = heartbeat.watch({kWorldGroup, ranks});
  CallId call = heartbeat.describe(group, "the end of the run");
  heartbeat.begin(call);
  world.exchange("");
  heartbeat.end(call);
  heartbeat.leave();
  world.while_waiting({});
}

HeartbeatTimes heartbeat_times(std::chrono::nanoseconds timeout) {
  HeartbeatTimes times;
  times.silence = std::max<Moment>(timeout, 4 * times.period);
  times.join = std::max(times.join, times.silence);
  times.stall = std::max(times.stall, 2 * times.silence);
  return times;
}

void require_agreement(const RankVoice& voice, const std::string& subject,
                       const std::string& text) {
  auto hashes = voice.exchange(fmt::format("{} {}", subject, hash_text(text)));
  auto other = std::ranges::find_if(hashes, [&](const auto& hash) { return hash != hashes[0]; });
  if (other == hashes.end()) return;
  auto rank = static_cast<int>(other - hashes.begin());
  bool speaks = voice.rank == 0 || voice.rank == rank;
  auto texts = voice.exchange(speaks ? subject + "\n" + text : "");
  throw Error(
      ErrorKind::usage,
      fmt::format("The ranks are not going to do the same: their {} differs, in {}. Start all "
                  "ranks with the same files, options and version of Troika.",
                  subject, difference(texts[0], texts[rank], rank)));
}

}  // namespace troika
