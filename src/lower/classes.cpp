#include "lower/classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "lower/colour.h"
#include "lower/crossings.h"
#include "lower/member_groups.h"

namespace troika {
namespace {

/// All that is known of a device without its partners.
Colour colour_alone(const DeviceSpec& device) {
  Colour colour = mix(Colour{}, hash_text(device.kind));
  colour = mix(colour, std::bit_cast<std::uint64_t>(device.flops_per_second));
  colour = mix(colour, std::bit_cast<std::uint64_t>(device.bytes_per_second));
  colour = mix(colour, std::bit_cast<std::uint64_t>(device.slowdown));
  return mix(colour, static_cast<std::uint64_t>(device.memory.count));
}

Colour colour_of(const LinkSpeed& speed) {
  Colour colour = mix(Colour{}, std::bit_cast<std::uint64_t>(speed.bytes_per_second));
  colour = mix(colour, static_cast<std::uint64_t>(speed.latency.count));
  return mix(colour, static_cast<std::uint64_t>(overhead_of(speed).count));
}

/// By device.
std::vector<Colour> colours_alone(const Machine& machine, std::span<const Aspect* const> aspects) {
  std::vector<Colour> colours;
  for (const DeviceSpec& device : machine.devices) colours.push_back(colour_alone(device));
  for (const Aspect* aspect : aspects) {
    if (aspect->own.empty()) continue;
    TROIKA_CHECK_EQ(aspect->own.size(), colours.size());
    // Mostly all devices do the same, which tells none of them apart.
    if (std::ranges::count(aspect->own, aspect->own[0]) == std::ssize(aspect->own)) continue;
    for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = mix(colours[i], aspect->own[i]);
  }
  return colours;
}

class Refinement {
 public:
  /// `alone`: by device, the colours that they have without their partners.
  Refinement(const Machine& machine, std::span<const Aspect* const> aspects,
             std::vector<Colour> alone)
      : machine_(machine), colours_(std::move(alone)) {
    // Not the colour of any device.
    colours_.resize(machine.devices.size() + machine.hubs.size(), Colour{1, 1});
    CommunicationList list = list_communications(aspects);
    crossings_ = find_crossings(machine, list.members, list.ends);
    shapes_ = std::move(list.shapes);
    groups_ = group_members(machine, std::move(list));
    find_talking();
    colour_by_links();
  }

  /// The number of each endpoint's class.
  std::vector<std::int32_t> run() {
    std::vector<std::int32_t> numbers(colours_.size());
    ColourNumbering numbering(colours_.size());
    std::int32_t count = numbering.number(colours_, numbers);
    // A round computes the next colours from the last ones alone and only ever splits them: if it
    // split none, no later one would.
    for (std::int32_t before = -1; before != count && !shapes_.empty() && !all_differ(numbers);) {
      refine();
      before = std::exchange(count, numbering.number(colours_, numbers));
    }
    return numbers;
  }

  /// By link in one direction, once `run` is over: the first of its class.
  std::vector<std::int32_t> links() const {
    std::vector<std::int32_t> first(2 * machine_.links.size(), -1);
    // No round was needed where nothing is sent.
    if (load_.empty()) return first;
    std::vector<Colour> colours;
    std::vector<std::int32_t> carrying;
    for (std::size_t link = 0; link < machine_.links.size(); ++link) {
      if (!crossings_.carries[link]) continue;
      for (std::size_t end : {0, 1}) {
        colours.push_back(load_[link][end]);
        carrying.push_back(static_cast<std::int32_t>(2 * link + end));
      }
    }
    std::vector<std::int32_t> numbers(colours.size()), first_of_number;
    ColourNumbering(colours.size()).number(colours, numbers);
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      if (numbers[at] == std::ssize(first_of_number)) first_of_number.push_back(carrying[at]);
      first[as_index(carrying[at])] = first_of_number[as_index(numbers[at])];
    }
    return first;
  }

 private:
  // Devices come first, and classes are numbered by their first member.
  bool all_differ(std::span<const std::int32_t> numbers) const {
    std::size_t devices = machine_.devices.size();
    return devices == 0 || as_index(numbers[devices - 1]) == devices - 1;
  }

  void find_talking() {
    talks_.resize(machine_.devices.size());
    for (const Membership& member : groups_.members) talks_[as_index(member.device)] = true;
    std::int32_t last_rank = -1;
    for (const DeviceSpec& device : machine_.devices) last_rank = std::max(last_rank, device.rank);
    in_process_.resize(as_index(last_rank + 1));
    in_node_.resize(as_index(node_count(machine_)));
  }

  // Not needed, since the first round sees more, but it mostly saves a round.
  void colour_by_links() {
    seen_.assign(colours_.size(), {});
    for (std::size_t i = 0; i < machine_.links.size(); ++i) {
      if (!crossings_.carries[i]) continue;
      for (std::int32_t end : {machine_.links[i].a, machine_.links[i].b})
        seen_[as_index(end)] += colour_of(machine_.links[i].speed);
    }
    for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = mix(colours_[i], seen_[i]);
  }

  void refine() {
    seen_.assign(colours_.size(), {});
    see_places();
    sum_members();
    see_links();
    see_communications();
    for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = mix(colours_[i], seen_[i]);
  }

  // A device that takes part in nothing neither sees nor disturbs the others of its node.
  void see_places() {
    std::ranges::fill(in_node_, Colour{});
    std::ranges::fill(in_process_, Colour{});
    for (std::size_t i = 0; i < talks_.size(); ++i) {
      if (!talks_[i]) continue;
      Colour mixed = mix(colours_[i], kPlace);
      in_node_[as_index(machine_.devices[i].node)] += mixed;
      in_process_[as_index(machine_.devices[i].rank)] += mixed;
    }
    for (std::size_t i = 0; i < talks_.size(); ++i)
      if (talks_[i])
        seen_[i] += mix(in_node_[as_index(machine_.devices[i].node)],
                        in_process_[as_index(machine_.devices[i].rank)]);
  }

  // The multiset of all members is enough for a communication: each of them sees those in its node
  // and process, and so has another colour in the next round where they are spread otherwise.
  void sum_members() {
    const auto& [members, processes, nodes, communications] = groups_;
    of_process_.assign(processes.size(), {});
    of_node_.assign(nodes.size(), {});
    of_communication_ = shapes_;
    MemoMix mix_member;
    std::size_t member = 0, process = 0, node = 0;
    for (std::size_t i = 0; i < communications.size(); ++i) {
      for (; node < as_index(communications[i]); ++node) {
        for (; process < as_index(nodes[node]); ++process) {
          for (; member < as_index(processes[process]); ++member)
            of_process_[process] += mix_member(colours_[as_index(members[member].device)],
                                               static_cast<std::uint64_t>(members[member].part));
          of_node_[node] += of_process_[process];
        }
        of_communication_[i] += of_node_[node];
      }
    }
  }

  // Links that carry nothing neither matter nor join anything.
  void see_links() {
    load_.assign(machine_.links.size(), {});
    std::array<MemoMix, 2> mix_sent;
    for (const Crossing& crossing : crossings_.crossings)
      for (std::size_t end : {0, 1})
        load_[as_index(crossing.link)][end] +=
            mix_sent[end](of_communication_[as_index(crossing.communication)], crossing.sent[end]);
    for (std::size_t i = 0; i < machine_.links.size(); ++i)
      if (crossings_.carries[i]) see_link(machine_.links[i], load_[i]);
    // A communication sees each link that it crosses, and what it puts on it in each direction.
    std::vector<Colour> crossed(of_communication_.size());
    for (const Crossing& crossing : crossings_.crossings)
      for (std::size_t end : {0, 1})
        crossed[as_index(crossing.communication)] +=
            mix_sent[end](load_[as_index(crossing.link)][end], crossing.sent[end]);
    for (std::size_t i = 0; i < crossed.size(); ++i)
      of_communication_[i] = mix(of_communication_[i], crossed[i]);
  }

  // Replaces the load of each end by the colour of the link in the direction away from that end.
  void see_link(const Link& link, std::array<Colour, 2>& ends) {
    ends[0] = mix(colours_[as_index(link.a)], ends[0]);
    ends[1] = mix(colours_[as_index(link.b)], ends[1]);
    Colour both = colour_of(link.speed);
    for (Colour end : ends) both += mix(end, kLink);
    for (Colour& end : ends) end = mix(both, end);
    seen_[as_index(link.a)] += mix(ends[0], kLink);
    seen_[as_index(link.b)] += mix(ends[1], kLink);
  }

  // A device sees its part, the communication, and who of it is in its node and process.
  void see_communications() {
    const auto& [members, processes, nodes, communications] = groups_;
    MemoMix mix_member;
    std::size_t member = 0, process = 0, node = 0;
    for (std::size_t i = 0; i < communications.size(); ++i) {
      for (; node < as_index(communications[i]); ++node) {
        Colour in_node = mix(of_communication_[i], of_node_[node]);
        for (; process < as_index(nodes[node]); ++process) {
          Colour in_process = mix(in_node, of_process_[process]);
          for (; member < as_index(processes[process]); ++member)
            seen_[as_index(members[member].device)] +=
                mix_member(in_process, static_cast<std::uint64_t>(members[member].part));
        }
      }
    }
  }

  // Numbers that keep sums of different things apart.
  static constexpr std::uint64_t kPlace = 1, kLink = 2;

  const Machine& machine_;
  MemberGroups groups_;
  std::vector<Colour> shapes_;  // by communication
  Crossings crossings_;
  std::vector<bool> talks_;      // by device: it takes part in some communication
  std::vector<Colour> colours_;  // by endpoint: those of the last round,
  std::vector<Colour> seen_;     // and the sum of what it sees of others
  std::vector<Colour> in_node_, in_process_;
  std::vector<Colour> of_process_, of_node_, of_communication_;
  std::vector<std::array<Colour, 2>> load_;  // by link and end
};

bool all_differ(std::span<const Colour> colours) {
  std::vector<std::int32_t> numbers(colours.size());
  return ColourNumbering(colours.size()).number(colours, numbers) == std::ssize(colours);
}

/// `numbers` begins with the devices', whose classes are numbered by their first occurrence.
Classes list_classes(std::span<const std::int32_t> numbers) {
  Classes classes;
  for (std::size_t device = 0; device < numbers.size(); ++device) {
    if (numbers[device] == classes.count()) {
      classes.first.push_back(static_cast<std::int32_t>(device));
      classes.size.push_back(0);
    }
    classes.of_device.push_back(numbers[device]);
    ++classes.size[as_index(numbers[device])];
  }
  return classes;
}

}  // namespace

Partition find_partition(const Machine& machine, std::span<const Aspect* const> aspects) {
  std::vector<Colour> alone = colours_alone(machine, aspects);
  // No partner can tell devices apart further.
  if (all_differ(alone)) return one_class_each(machine);
  Refinement refinement(machine, aspects, std::move(alone));
  std::vector<std::int32_t> numbers = refinement.run();
  Classes classes = list_classes(std::span(numbers).first(machine.devices.size()));
  if (as_index(classes.count()) == machine.devices.size()) return one_class_each(machine);
  return {std::move(classes), refinement.links()};
}

bool differ_alone(const Machine& machine, std::span<const Aspect* const> aspects) {
  return all_differ(colours_alone(machine, aspects));
}

Classes one_class_each(std::size_t devices) {
  std::vector<std::int32_t> numbers(devices);
  std::iota(numbers.begin(), numbers.end(), 0);
  return list_classes(numbers);
}

Partition one_class_each(const Machine& machine) {
  Partition made{.devices = one_class_each(machine.devices.size()),
                 .links = std::vector<std::int32_t>(2 * machine.links.size())};
  std::iota(made.links.begin(), made.links.end(), 0);
  return made;
}

}  // namespace troika
