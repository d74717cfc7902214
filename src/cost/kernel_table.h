// Facts about kernels as data: the implementations of a key, their layouts, scratch and times.
// `lower` reads this table and never calls the library that provides them (docs/design.md,
// Lowering).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cost/occupancy.h"
#include "taskgraph/kernel_choice.h"
#include "taskgraph/kernel_key.h"
#include "tensor/layout.h"

namespace troika {

/// How a candidate's time was measured.
struct Timing {
  SimTime spread{};          ///< Between the quartiles of its launches.
  std::int32_t repeats = 0;  ///< Launches that were timed.
  std::string date;          ///< ISO 8601, UTC.
  Occupancy at{};            ///< Of the computer, which the time holds for.

  bool operator==(const Timing&) const = default;
};

/// One implementation of a key.
struct Candidate {
  std::string algorithm;        ///< "reference", "direct", "winograd", …
  std::vector<Layout> layouts;  ///< One per operand of the key.
  /// Elementwise in stored order: all operands with the first operand's shape may share any layout.
  /// `lower` writes the layout that it chooses into `layouts`.
  bool flat = false;
  Bytes scratch{};
  std::vector<InPlace> in_place;
  std::optional<SimTime> time;     ///< Median of its launches, or by rule; unset until profiled.
  std::optional<Timing> timing{};  ///< Unset by rule, and in files of earlier versions.

  bool operator==(const Candidate&) const = default;
};

/// Identifies a candidate among those of its key: "direct channels_last plain weight_io8".
std::string to_text(const Candidate& candidate);

/// Results of comparing kernels with the reference, by the texts of key and candidate: the fault,
/// or an empty text.
using KernelChecks = std::map<std::string, std::map<std::string, std::string>>;

/// The rows of one kind of device.
class KernelRows {
 public:
  struct Row {
    KernelKey key;
    std::vector<Candidate> candidates;

    bool operator==(const Row&) const = default;
  };

  /// Returns the candidates for a key, the best first, or null if there is no row for it. An
  /// empty list means that there is no kernel. Valid until the row is inserted again.
  const std::vector<Candidate>* find(const KernelKey& key) const;
  void insert(const KernelKey& key, std::vector<Candidate> candidates);
  std::size_t size() const { return rows_.size(); }
  /// Changes with everything that a choice may depend on, including times; not with how they were
  /// measured.
  std::uint64_t hash() const;

  /// In the order in which they were inserted.
  const std::deque<Row>& rows() const { return rows_; }
  /// By the text of the key, so that the order is the same everywhere.
  std::map<std::string, const Row*> rows_by_text() const;

  /// Adds results and replaces older ones.
  void add_checks(const KernelChecks& checks);
  const KernelChecks& checks() const { return checks_; }

  /// What measured the rows: the processor and the build; empty if it is not known.
  std::string made_by;
  /// How memory slows down beside busy devices.
  MemoryRates memory_rates;

 private:
  std::deque<Row> rows_;                                        // stay in place as others are added
  std::unordered_multimap<std::uint64_t, std::size_t> row_at_;  // by the hash of the key
  KernelChecks checks_;
};

/// The rows of all kinds of devices of a machine.
class KernelTable {
 public:
  using Answer = std::function<std::vector<Candidate>(const KernelRequest&)>;

  /// As KernelRows::find.
  const std::vector<Candidate>* find(std::string_view kind, const KernelKey& key) const;
  /// Lets `find` enter rows that are missing, so that whoever reads the table misses none. The
  /// answer must depend on the row alone. Such a table is for one thread, `find` included.
  void answer_with(Answer answer) { answer_ = std::move(answer); }
  void insert(const KernelRequest& request, std::vector<Candidate> candidates);
  /// The rows of a kind, empty ones if there are none yet.
  KernelRows& of(const std::string& kind) { return kinds_[kind]; }
  const std::map<std::string, KernelRows, std::less<>>& kinds() const { return kinds_; }
  /// Rows of all kinds.
  std::size_t size() const;
  /// Changes with everything that a choice may depend on, including times.
  std::uint64_t hash() const;

 private:
  mutable std::map<std::string, KernelRows, std::less<>> kinds_;  // `find` may enter rows
  Answer answer_;
};

/// Changes each measured time to what it is at the occupancy; others stay as they are.
void reoccupy(const KernelKey& key, std::vector<Candidate>& candidates, const MemoryRates& rates,
              Occupancy to);
KernelRows reoccupied(const KernelRows& rows, Occupancy to);

/// Sets the candidates' times to those in `known`. Returns false if one is missing, since another
/// version may offer other kernels.
bool take_times(const KernelRows& known, const KernelKey& key, std::vector<Candidate>& candidates);

}  // namespace troika
