// What a message costs on each kind of link, as measured or assumed: the alpha, beta and gamma that
// the formulas of docs/algorithms.md and the choice of algorithms work with.
#pragma once

#include <filesystem>
#include <string>

#include "base/units.h"
#include "collective/recipe.h"

namespace troika {

/// All in nanoseconds. A message of n bytes takes alpha + n * beta and, if it is combined on
/// arrival rather than stored, n * gamma more.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;

  bool operator==(const LinkCost&) const = default;
};

/// What a member's own memory costs, in nanoseconds per byte.
struct MemoryCost {
  double copy = 0;         ///< to = from.
  double reduce = 0;       ///< to = to combined with from.
  double reduce_both = 0;  ///< Read, combined and written back, per byte of each vector involved,
                           ///< while all members do so.

  bool operator==(const MemoryCost&) const = default;
};

/// Where the figures come from.
struct Provenance {
  std::string source;   ///< "measured", "assumed" or the name of a data sheet.
  std::string machine;  ///< Processor and the like; what they hold for.
  std::string date;     ///< ISO 8601.
  std::string method;   ///< What was run, with which versions.

  bool operator==(const Provenance&) const = default;
};

struct LinkCosts {
  LinkCost process;  ///< Between devices of one process.
  LinkCost node;     ///< Between processes of one node.
  LinkCost network;  ///< Between nodes.
  MemoryCost memory;
  Provenance provenance;

  const LinkCost& operator[](LinkKind kind) const;
  bool operator==(const LinkCosts&) const = default;
};

/// Plausible figures for a machine that nobody has measured; its provenance says so.
LinkCosts assumed_link_costs();

/// Rounded to whole nanoseconds, like all times below.
SimTime message_time(const LinkCost& link, Bytes bytes);
SimTime time_for(Bytes bytes, double nanoseconds_per_byte);

std::string to_json(const LinkCosts& costs);
/// Throws Error(file) that says what is wrong with the text: no JSON, another format, a missing or
/// negative figure.
LinkCosts parse_link_costs(const std::string& text);
/// Throws Error(file) that names the path.
LinkCosts read_link_costs(const std::filesystem::path& path);

}  // namespace troika
