#include "setup/runtime_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/hash.h"
#include "config/cache_folder.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/processor_name.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "setup/hosts.h"
#include "setup/known_links.h"

namespace troika {
namespace {

int devices_per_rank(const ParallelConfig& parallel, const Ranks& ranks) {
  int count = ranks.count();
  if (parallel.devices % count == 0) return static_cast<int>(parallel.devices) / count;
  throw Error(ErrorKind::usage,
              fmt::format("{} devices cannot be spread evenly over {} ranks; use a multiple of {} "
                          "for parallel.devices (or -n)",
                          parallel.devices, count, count));
}

/// Makes device `number` of the computer, counted from those of this process.
using MakeDevice = std::function<std::unique_ptr<Device>(int number)>;

MakeDevice device_maker(const CpuOptions& options, const HostShares& hosts) {
  return [options, hosts](int number) {
    CpuOptions own = options;
    own.cores = cores_of_device(hosts, options.threads, number);
    return make_cpu_device(own);
  };
}

/// A limit of the system on threads, such as ulimit -u, is the user's to change, not a bug.
std::vector<std::unique_ptr<Device>> make_devices(int count, const MakeDevice& make) {
  std::vector<std::unique_ptr<Device>> devices;
  try {
    while (static_cast<int>(devices.size()) < count)
      devices.push_back(make(static_cast<int>(devices.size())));
  } catch (const std::system_error& refused) {
    throw Error(ErrorKind::usage,
                fmt::format("cannot start the thread of device {} of {}: {}; use fewer devices",
                            devices.size() + 1, count, refused.code().message()));
  }
  return devices;
}

/// Lists the devices of all ranks, those of the first rank first.
Machine make_machine(const ParallelConfig& parallel, const HostShares& hosts,
                     const std::string& kind) {
  Machine machine;
  auto devices = static_cast<std::size_t>(parallel.devices);
  for (std::size_t at = 0; at < devices; ++at) {
    // devices is a multiple of the ranks (devices_per_rank), so every rank has a block of equal
    // size.
    std::size_t rank = at * hosts.node_of_rank.size() / devices;
    machine.devices.push_back({.name = fmt::format("cpu{}", at),
                               .kind = kind,
                               .memory = parallel.memory.value_or(hosts.memory),
                               .node = hosts.node_of_rank[rank],
                               .rank = static_cast<int>(rank)});
  }
  return machine;
}

std::unique_ptr<Transport> join_devices(const Machine& machine, Ranks& ranks) {
  if (machine.devices.size() < 2) return nullptr;
  std::vector<int> rank_of_device;
  for (const DeviceSpec& device : machine.devices) rank_of_device.push_back(device.rank);
  return ranks.join(rank_of_device);
}

using Rows = std::vector<std::vector<Candidate>>;

/// The first rank answers and sends its rows in one message, behind a line that says which ones
/// they are. A rank that needs others fails here instead of in a mismatched collective.
Rows agreed_rows(Ranks& ranks, const std::vector<KernelRequest>& asked,
                 const std::function<std::vector<Candidate>(const KernelRequest&)>& answer) {
  std::uint64_t hash = 0;
  for (const KernelRequest& row : asked)
    hash = hash_text(to_text(row.key), hash_text(row.kind, hash));
  const std::string own = fmt::format("{} kernels {:016x}", asked.size(), hash);
  std::string message;
  if (ranks.is_first()) {
    KernelTable table;
    for (const KernelRequest& row : asked) table.insert(row, answer(row));
    message = own + "\n" + to_json(table);
  }
  message = ranks.agree(message);
  const std::string first = message.substr(0, message.find('\n'));
  KernelTable received = parse_costs(message.substr(first.size()));
  Rows rows;
  for (const KernelRequest& row : asked) {
    const std::vector<Candidate>* candidates = received.find(row.kind, row.key);
    if (candidates == nullptr || first != own)
      throw Error(ErrorKind::usage,
                  fmt::format("ranks disagree about the run: the first rank needs {} and this one "
                              "{}, among them '{}'",
                              first, own, to_text(row.key)));
    rows.push_back(*candidates);
  }
  return rows;
}

/// Each computer may have its own links.json. Ranks with different costs would choose different
/// algorithms and wait for messages that are never sent.
LinkCosts agreed_links(const KernelsConfig& kernels, Ranks& ranks) {
  std::string own;
  if (ranks.is_first()) own = to_json(known_link_costs(default_links_file(kernels.cache)));
  return parse_link_costs(ranks.agree(own));
}

}  // namespace

std::string measured_by() { return processor_name() + ", " TROIKA_BUILD; }

Rows RuntimeSetup::answer(const std::vector<KernelRequest>& asked) {
  auto answer_row = [this](const KernelRequest& row) {
    bool can_measure = costs != nullptr && row.kind == device().kind();
    return can_measure ? costs->answer(row.key) : backend->candidates(row.key);
  };
  if (is_measured && ranks->count() > 1) return agreed_rows(*ranks, asked, answer_row);
  Rows rows;
  for (const KernelRequest& row : asked) rows.push_back(answer_row(row));
  return rows;
}

SessionDevices RuntimeSetup::local() const {
  SessionDevices local{.transport = transport.get()};
  if (machine.moves_beside)
    local.mover = MoverThread::own_core;
  else if (node_count(machine) > 1)
    local.mover = MoverThread::shared_core;
  std::size_t next = 0;
  for (std::size_t at = 0; at < machine.devices.size(); ++at)
    if (machine.devices[at].rank == ranks->rank())
      local.devices[DeviceId(at)] = devices.at(next++).get();
  return local;
}

RuntimeSetup set_up_runtime(const KernelsConfig& kernels, const ParallelConfig& parallel,
                            KnownCosts known, Ranks& ranks) {
  int own = devices_per_rank(parallel, ranks);
  HostShares hosts = meet_hosts(ranks, own);
  int threads = parallel.threads ? static_cast<int>(*parallel.threads) : hosts.threads;
  bool is_cpu = kernels.backend == KernelsConfig::Backend::cpu;
  RuntimeSetup made{.links = agreed_links(kernels, ranks), .ranks = &ranks};
  if (is_cpu)
    made.backend = make_cpu_backend({.threads = threads, .winograd = kernels.winograd});
  else
    made.backend = make_reference_backend();
  const MakeDevice make =
      device_maker({.threads = threads, .library = is_cpu ? cpu_library() : "reference"}, hosts);
  made.devices = make_devices(own, make);
  made.machine = make_machine(parallel, hosts, made.device().kind());
  for (const DeviceSpec& device : made.machine.devices)
    made.computers.push_back(hosts.computer_of_rank[static_cast<std::size_t>(device.rank)]);
  made.transport = join_devices(made.machine, ranks);
  // A spare core can run a thread that moves messages while the devices compute.
  made.machine.moves_beside = hosts.devices * threads < hosts.cores;
  // The reference backend has one kernel per key. With a fixed order the results must not depend on
  // measured times, which vary from run to run.
  made.is_measured = kernels.measure && is_cpu && parallel.order != ParallelConfig::Order::fixed;
  // The others get the first rank's rows (agreed_rows), so they need no costs of their own.
  if (made.is_measured && ranks.is_first())
    made.costs = std::make_unique<MeasuredCosts>(
        made.device(), *made.backend,
        MeasuredCosts::Options{.folder = cache_folder(kernels.cache),
                               .made_by = measured_by(),
                               .given = std::move(known.given),
                               .measures_anew = known.measures_anew,
                               .memory = made.machine.devices.front().memory,
                               .occupancy = known.occupancy.value_or(
                                   occupancy_of(hosts.most_devices, hosts.cores / threads)),
                               .make_neighbour = make});
  return made;
}

Machine with_rates(Machine machine, const std::function<DeviceSpec(const DeviceSpec&)>& measure) {
  std::map<std::string, DeviceSpec> known;
  for (DeviceSpec& device : machine.devices) {
    auto [measured, is_new] = known.try_emplace(device.kind);
    if (is_new) measured->second = measure(device);
    device.flops_per_second = measured->second.flops_per_second;
    device.bytes_per_second = measured->second.bytes_per_second;
  }
  return machine;
}

}  // namespace troika
