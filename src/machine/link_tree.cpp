#include "machine/link_tree.h"

#include "base/ids.h"

namespace troika {
namespace {

std::vector<std::int32_t> degrees_of(const Machine& machine) {
  std::vector<std::int32_t> degrees(machine.devices.size() + machine.hubs.size());
  for (const Link& link : machine.links) {
    ++degrees[as_index(link.a)];
    ++degrees[as_index(link.b)];
  }
  return degrees;
}

std::vector<char> find_only_links(const Machine& machine) {
  std::vector<std::int32_t> degrees = degrees_of(machine);
  auto hangs_on = [&](std::int32_t end) {
    return as_index(end) < machine.devices.size() && degrees[as_index(end)] == 1;
  };
  std::vector<char> only(machine.links.size());
  for (std::size_t link = 0; link < only.size(); ++link)
    only[link] = hangs_on(machine.links[link].a) || hangs_on(machine.links[link].b);
  return only;
}

/// Links by endpoint: those of endpoint e are links[begins[e]] to links[begins[e + 1]].
struct LinksOfEndpoints {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> links;

  explicit LinksOfEndpoints(const Machine& machine) : links(2 * machine.links.size()) {
    std::vector<std::int32_t> degrees = degrees_of(machine);
    begins.push_back(0);
    for (std::int32_t degree : degrees) begins.push_back(begins.back() + degree);
    std::vector<std::int32_t> next(begins.begin(), begins.end() - 1);
    for (std::size_t at = 0; at < machine.links.size(); ++at)
      for (std::int32_t end : {machine.links[at].a, machine.links[at].b})
        links[as_index(next[as_index(end)]++)] = static_cast<std::int32_t>(at);
  }
};

/// Hangs the component of `root` up there. Returns false if its links have a cycle.
bool hang_up(const Machine& machine, const LinksOfEndpoints& of, std::int32_t root,
             LinkTree& tree) {
  tree.depth[as_index(root)] = 0;
  std::vector<std::int32_t> queue{root};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    std::int32_t here = queue[at];
    for (auto i = as_index(of.begins[as_index(here)]); i < as_index(of.begins[as_index(here) + 1]);
         ++i) {
      if (of.links[i] == tree.link[as_index(here)]) continue;
      const Link& link = machine.links[as_index(of.links[i])];
      std::int32_t there = link.a == here ? link.b : link.a;
      if (tree.depth[as_index(there)] >= 0) return false;
      tree.parent[as_index(there)] = here;
      tree.link[as_index(there)] = of.links[i];
      tree.depth[as_index(there)] = tree.depth[as_index(here)] + 1;
      queue.push_back(there);
    }
  }
  return true;
}

}  // namespace

std::optional<LinkTree> find_link_tree(const Machine& machine) {
  LinksOfEndpoints of(machine);
  std::size_t endpoints = of.begins.size() - 1;
  std::vector<std::int32_t> unseen(endpoints, -1);
  LinkTree tree{unseen, unseen, unseen, find_only_links(machine)};
  for (std::size_t root = 0; root < endpoints; ++root)
    if (tree.depth[root] < 0 && !hang_up(machine, of, static_cast<std::int32_t>(root), tree))
      return std::nullopt;
  return tree;
}

}  // namespace troika
