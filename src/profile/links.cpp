#include "profile/links.h"

#include <algorithm>
#include <memory>

#include "base/cores.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"
#include "comm/backoff.h"
#include "profile/member_threads.h"

namespace troika {
namespace {

std::vector<DeviceId> devices_of(int members) {
  std::vector<DeviceId> devices;
  for (int member = 0; member < members; ++member)
    devices.push_back(DeviceId(static_cast<std::size_t>(member)));
  return devices;
}

/// One group per size, of all algorithms that do not decline: competitors are timed in turns.
void add_groups(std::vector<TimedGroup>& groups, const MemberTeam& team, Collective kind,
                const std::vector<Bytes>& sizes) {
  for (Bytes bytes : sizes) {
    TimedGroup group;
    CollectiveCall call = team_call(team, kind, bytes);
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (!algorithm.why_not(call)) group.calls.push_back({call, std::string(algorithm.name)});
    }
    if (team.has_mpi && !why_not_by_mpi(call, kTimedElement))
      group.calls.push_back({call, std::string(kByMpi)});
    if (!group.calls.empty()) groups.push_back(std::move(group));
  }
}

/// Grows by `factor` from `least` up to `most`.
std::vector<Bytes> sizes_from(Bytes least, Bytes most, int factor) {
  std::vector<Bytes> sizes;
  for (Bytes bytes = least; bytes <= most; bytes = bytes * factor) sizes.push_back(bytes);
  return sizes;
}

std::vector<TimedGroup> all_groups(const MemberTeam& team, const LinkSizes& sizes) {
  using enum Collective;
  std::vector<TimedGroup> groups;
  add_groups(groups, team, all_reduce, sizes_from(sizes.least, sizes.most, 2));
  for (Collective kind :
       {reduce_scatter, all_gather, broadcast, reduce, all_to_all, gather, scatter})
    add_groups(groups, team, kind, sizes_from(sizes.least, {sizes.most.count / 2}, 4));
  add_groups(groups, team, barrier, {Bytes{}});
  return groups;
}

/// The work of a direct all-reduce after all members have arrived.
CollectiveTimer::Maker make_roofline(int member, const std::vector<std::byte*>& vectors,
                                     bool streams) {
  return [=, &vectors](const CollectiveCall& call, std::span<std::byte>) {
    Range slice = part_of(call.count, member, call.members);
    std::vector<std::byte*> slices = vectors;
    for (std::byte*& vector : slices) vector += slice.begin * kTimedElement.count;
    Arithmetic arithmetic = arithmetic_of(DType::f32, CombineRule::sum);
    return [=](int rounds) {
      for (int round = 0; round < rounds; ++round)
        arithmetic.combine_all(slices, slice.extent(), 1, streams);
    };
  };
}

/// MPI's own collective: the body starts it and polls.
CollectiveTimer::Maker make_by_mpi(MpiWorld& world, const std::function<void()>& check) {
  return [&world, check](const CollectiveCall& call, std::span<std::byte> vector) {
    // Shared, because a function is copied.
    std::shared_ptr<LibraryCollective> collective = world.prepare_collective({call}, vector, check);
    Backoff backoff;
    backoff.set_oversubscribed(
        is_oversubscribed({.own_cores = static_cast<int>(usable_cores().size()),
                           .devices_here = world.ranks_here(),
                           .cores_of_machine = cores_of_machine()}));
    return [collective, backoff](int rounds) mutable {
      for (int round = 0; round < rounds; ++round) {
        collective->start();
        while (!collective->done()) {
          if (!backoff.try_again()) backoff.reset();  // no message would wake a sleeping thread
        }
        backoff.reset();
      }
    };
  };
}

}  // namespace

MemberTeam thread_team(int members, bool pins) {
  auto time = [=](std::vector<TimedGroup>& groups, const TimingPasses& passes, Bytes longest) {
    // Each thread needs its own copy to work on. All copies end with the same samples.
    std::vector<std::vector<TimedGroup>> of_member(static_cast<std::size_t>(members), groups);
    std::vector<std::byte*> vectors(static_cast<std::size_t>(members));
    run_member_threads({.members = members, .pins = pins}, [&](ThreadTransport& transport, int me) {
      auto index = static_cast<std::size_t>(me);
      MoveScheduler scheduler(transport, DeviceId(index));
      CollectiveTimer timer(scheduler, devices_of(members), longest);
      vectors[index] = timer.vector();
      timer.add_maker(std::string(kRoofline), make_roofline(me, vectors, false));
      timer.add_maker(std::string(kStreamedRoofline), make_roofline(me, vectors, true));
      timer.time_all(of_member[index], passes);
    });
    groups = std::move(of_member.front());
  };
  return {.members = members, .link = LinkKind::process, .time = time};
}

MemberTeam rank_team(MpiWorld& world, Heartbeat& heartbeat) {
  auto time = [&world, &heartbeat](std::vector<TimedGroup>& groups, const TimingPasses& passes,
                                   Bytes longest) {
    auto check = [&heartbeat] { heartbeat.check(); };
    std::vector<int> rank_of_device;
    for (int rank = 0; rank < world.ranks(); ++rank) rank_of_device.push_back(rank);
    std::unique_ptr<Transport> transport = world.make_transport(rank_of_device, check);
    MoveScheduler scheduler(*transport, DeviceId(static_cast<std::size_t>(world.rank())));
    CollectiveTimer timer(scheduler, devices_of(world.ranks()), longest);
    timer.add_maker(std::string(kByMpi), make_by_mpi(world, check));
    timer.set_watch(heartbeat);
    timer.time_all(groups, passes);
  };
  return {.members = world.ranks(),
          .link = world.on_one_host() ? LinkKind::node : LinkKind::network,
          .has_mpi = true,
          .time = time};
}

CollectiveCall team_call(const MemberTeam& team, Collective kind, Bytes bytes) {
  CollectiveCall call = equal_parts(kind, team.members, bytes.count / kTimedElement.count);
  // The link between any two members follows from the places that the call names.
  std::vector<int> apart;
  for (int member = 0; member < team.members; ++member) apart.push_back(member);
  if (team.link == LinkKind::node) call.processes = apart;
  if (team.link == LinkKind::network) call.nodes = apart;
  return call;
}

std::vector<MeasuredAlgorithm> measure_algorithms(const MemberTeam& team, const LinkSizes& sizes,
                                                  const TimingPasses& passes) {
  std::vector<TimedGroup> groups = all_groups(team, sizes);
  team.time(groups, passes, sizes.most);
  // Groups come in ascending size, so the points of each row do, too.
  std::vector<MeasuredAlgorithm> rows;
  for (const TimedGroup& group : groups) {
    std::vector<double> times = medians(group);
    for (std::size_t at = 0; at < times.size(); ++at) {
      const TimedCall& timed = group.calls[at];
      auto row = std::ranges::find_if(rows, [&](const MeasuredAlgorithm& known) {
        return known.kind == timed.call.kind && known.algorithm == timed.algorithm;
      });
      if (row == rows.end())
        row = rows.insert(rows.end(), MeasuredAlgorithm{.kind = timed.call.kind,
                                                        .algorithm = timed.algorithm,
                                                        .members = team.members,
                                                        .link = team.link});
      row->times.points.push_back({kTimedElement * timed.call.count, times[at]});
    }
  }
  return rows;
}

}  // namespace troika
