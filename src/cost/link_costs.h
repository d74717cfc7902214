// What a message costs on each kind of link, as measured or assumed: the alpha, beta and gamma that
// the formulas of docs/algorithms.md and the choice of algorithms work with.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"
#include "cost/size_curve.h"

namespace troika {

/// All in nanoseconds. A message of n bytes takes alpha + n * beta and, if it is combined on
/// arrival rather than stored, n * gamma more. Vectors fall out of caches as they grow, so where
/// times were measured they come before the three figures, which then sum them up.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
  SizeCurve message_times{};
  SizeCurve combine_times{};
  std::string origin{};  ///< When and how it was measured; empty: as the provenance says.

  bool operator==(const LinkCost&) const = default;
};

/// What a member's own memory costs, in nanoseconds per byte; measured times come first here too.
struct MemoryCost {
  double copy = 0;         ///< to = from.
  double reduce = 0;       ///< to = to combined with from.
  double reduce_both = 0;  ///< Read, combined and written back, per byte of each vector involved,
                           ///< while all members do so.
  SizeCurve copy_times{};
  SizeCurve reduce_times{};
  SizeCurve reduce_both_times{};

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

/// A whole collective as it was measured: f32, equal parts, no segments, all members joined by one
/// kind of link.
struct MeasuredAlgorithm {
  Collective kind = Collective::all_reduce;
  std::string algorithm;
  int members = 2;
  LinkKind link = LinkKind::process;
  SizeCurve times;  ///< By the bytes of the whole vector.

  bool operator==(const MeasuredAlgorithm&) const = default;
};

struct LinkCosts {
  LinkCost process;  ///< Between devices of one process.
  LinkCost node;     ///< Between processes of one node.
  LinkCost network;  ///< Between nodes.
  MemoryCost memory;
  Provenance provenance;
  std::vector<MeasuredAlgorithm> measured{};

  const LinkCost& operator[](LinkKind kind) const;
  LinkCost& operator[](LinkKind kind);
  bool operator==(const LinkCosts&) const = default;
};

/// Plausible figures for a machine that nobody has measured; its provenance says so.
LinkCosts assumed_link_costs();

/// Rounded to whole nanoseconds, like all times below.
SimTime message_time(const LinkCost& link, Bytes bytes);
SimTime combine_time(const LinkCost& link, Bytes bytes);
SimTime copy_time(const MemoryCost& memory, Bytes bytes);
SimTime reduce_time(const MemoryCost& memory, Bytes bytes);
/// `bytes` of all vectors involved together.
SimTime reduce_both_time(const MemoryCost& memory, Bytes bytes);
SimTime time_for(Bytes bytes, double nanoseconds_per_byte);

/// "process", "node", "network".
std::string_view to_string(LinkKind kind);

std::string to_json(const LinkCosts& costs);
/// Throws Error(file) that says what is wrong with the text: no JSON, another format, a missing or
/// negative figure.
LinkCosts parse_link_costs(const std::string& text);
/// Throws Error(file) that names the path.
LinkCosts read_link_costs(const std::filesystem::path& path);

}  // namespace troika
