// The cost of messages on each kind of link, measured or assumed: alpha, beta and gamma of the
// formulas in docs/algorithms.md, by which algorithms are chosen.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"
#include "cost/size_curve.h"

namespace troika {

/// All in nanoseconds. A message of n bytes takes alpha + n * beta and, if it is combined on
/// arrival instead of stored, n * gamma more. Times are not linear, because large vectors do not
/// fit into the caches; so measured times have precedence over the three figures, which are fitted
/// to them.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
  /// The part of alpha for which a message occupies the port, so that others wait; unset: not
  /// known, see overhead_of.
  std::optional<double> overhead{};
  SizeCurve message_times{};
  SizeCurve combine_times{};
  std::string origin{};  ///< When and how it was measured; empty: see the provenance.

  bool operator==(const LinkCost&) const = default;
};

/// The cost of a member's own memory, in nanoseconds per byte. Measured times have precedence.
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

/// The origin of the figures.
struct Provenance {
  std::string source;   ///< "measured", "assumed" or the name of a data sheet.
  std::string machine;  ///< The machine that they hold for, such as its processor.
  std::string date;     ///< ISO 8601.
  std::string method;   ///< The programs that were run, with their versions.

  bool operator==(const Provenance&) const = default;
};

/// Measured times of a whole collective: f32, equal parts, no segments, one kind of link between
/// all members.
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

/// Plausible figures for a machine that was not measured; the provenance says so.
LinkCosts assumed_link_costs();

/// Rounded to whole nanoseconds, like all times below.
SimTime message_time(const LinkCost& link, Bytes bytes);
/// The known overhead, or the assumed share of alpha (machine/machine.h).
SimTime overhead_of(const LinkCost& link);
/// The part of message_time that occupies nothing, the same for all sizes.
SimTime latency_of(const LinkCost& link);
SimTime combine_time(const LinkCost& link, Bytes bytes);
SimTime copy_time(const MemoryCost& memory, Bytes bytes);
SimTime reduce_time(const MemoryCost& memory, Bytes bytes);
/// `bytes` is the sum over all vectors involved.
SimTime reduce_both_time(const MemoryCost& memory, Bytes bytes);
SimTime time_for(Bytes bytes, double nanoseconds_per_byte);

/// "process", "node", "network".
std::string_view to_string(LinkKind kind);

std::string to_json(const LinkCosts& costs);
/// Throws Error(file) that says what is wrong with the text: invalid JSON, another format, a
/// missing or negative figure.
LinkCosts parse_link_costs(const std::string& text);
/// Throws Error(file) that names the path.
LinkCosts read_link_costs(const std::filesystem::path& path);

}  // namespace troika
