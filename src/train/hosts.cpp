#include "train/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/cores.h"
#include "machine/this_machine.h"

namespace troika {
namespace {

/// What the ranks on one computer say together.
struct Host {
  int node = 0;
  int ranks = 0;
  HostWord word;

  void add(const HostWord& said) {
    bool is_first = ranks++ == 0;
    word.cores = is_first ? said.cores : std::max(word.cores, said.cores);
    word.memory = is_first ? said.memory : std::min(word.memory, said.memory);
    word.online = said.online;
  }
  /// Ranks that are bound have their cores alone; together they have no more than there are.
  int cores() const { return std::min(word.online, word.cores * ranks); }
  bool shares_cores() const { return word.cores * ranks > word.online; }
};

std::string to_text(const HostWord& word) {
  return fmt::format("{} {} {} {}", word.cores, word.online, word.memory.count, word.host);
}

HostWord parse_word(const std::string& text) {
  HostWord word;
  std::istringstream(text) >> word.cores >> word.online >> word.memory.count >> word.host;
  return word;
}

/// Threads that a device can have on every computer, at least one.
int common_threads(const std::vector<HostWord>& words, const std::map<std::string, Host>& hosts,
                   int devices_per_rank) {
  int threads = words[0].cores;
  for (const HostWord& word : words) threads = std::min(threads, word.cores / devices_per_rank);
  for (const auto& [name, host] : hosts)
    if (host.shares_cores())
      threads = std::min(threads, host.word.cores / (host.ranks * devices_per_rank));
  return std::max(1, threads);
}

}  // namespace

HostShares share_hosts(const std::vector<HostWord>& words, int own, int devices_per_rank) {
  HostShares shares;
  std::map<std::string, Host> hosts;
  for (const HostWord& word : words) {
    Host& host = hosts.try_emplace(word.host, Host{static_cast<int>(hosts.size())}).first->second;
    host.add(word);
    shares.node_of_rank.push_back(host.node);
  }
  shares.threads = common_threads(words, hosts, devices_per_rank);
  const Host& here = hosts.at(words[static_cast<std::size_t>(own)].host);
  shares.cores = here.cores();
  shares.devices = here.ranks * devices_per_rank;
  auto memory_of = [&](const Host& host) {
    return Bytes{host.word.memory.count / (host.ranks * devices_per_rank)};
  };
  shares.memory = memory_of(here);
  for (const auto& [name, host] : hosts) shares.memory = std::min(shares.memory, memory_of(host));
  return shares;
}

HostShares meet_hosts(Ranks* ranks, int devices_per_rank) {
  HostWord own{.cores = std::max(1, static_cast<int>(usable_cores().size()))};
  own.online = std::max(own.cores, cores_of_machine());
  own.memory = this_machine(1, own.cores).devices.at(0).memory;
  if (ranks == nullptr) return share_hosts({own}, 0, devices_per_rank);
  own.host = ranks->host();
  std::vector<HostWord> words;
  for (const std::string& text : ranks->exchange(to_text(own))) words.push_back(parse_word(text));
  return share_hosts(words, ranks->rank(), devices_per_rank);
}

}  // namespace troika
