// For tests: the coarsest equitable partition by the definition, without hashes and without haste.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lower/classes.h"

namespace troika {

/// Texts stand for values: equal texts for equal values.
struct RefinementFacts {
  struct Member {
    std::size_t device = 0;
    std::string part;
  };
  struct Communication {
    std::string shape;
    std::vector<Member> members;
  };
  std::vector<std::string> devices;  ///< All that is known of each device without its partners.
  std::vector<Communication> communications;
};

/// Refines a graph whose vertices are the devices, the communications, the groups of members of a
/// communication in one node and in one process, the nodes and processes, the hubs, and the two
/// directions of each link that carries something. Edges say which belong together.
Classes refine_naively(const Machine& machine, const RefinementFacts& facts);

RefinementFacts facts_of(const Machine& machine, std::span<const Aspect* const> aspects);

}  // namespace troika
