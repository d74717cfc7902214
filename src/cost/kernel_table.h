// Facts about kernels as data: which implementations answer a key, what layouts and scratch they
// want, how long they take. `lower` reads it and never sees the library behind it
// (docs/design.md, Lowering).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "taskgraph/kernel_choice.h"
#include "taskgraph/kernel_key.h"
#include "tensor/layout.h"

namespace troika {

/// One implementation that answers a key.
struct Candidate {
  std::string algorithm;        ///< "reference", "direct", "winograd", …
  std::vector<Layout> layouts;  ///< One per operand of the key.
  /// Elementwise in stored order: instead of plain, all operands of the first operand's shape may
  /// lie in any one layout. `lower` then writes that layout into `layouts`.
  bool flat = false;
  Bytes scratch{};
  std::vector<InPlace> in_place;
  std::optional<SimTime> time;  ///< Measured, or by rule; absent until profiled.

  bool operator==(const Candidate&) const = default;
};

/// What tells a candidate from the others of its key: "direct channels_last plain weight_io8".
std::string to_text(const Candidate& candidate);

/// Kernels that were held against the reference: by the text of the key and that of the candidate,
/// what is wrong with it; empty when nothing is.
using KernelChecks = std::map<std::string, std::map<std::string, std::string>>;

class KernelTable {
 public:
  /// The candidates for a key, best first; nullptr when the key was never asked. An empty list
  /// means: no kernel.
  const std::vector<Candidate>* find(const KernelKey& key) const;
  void insert(const KernelKey& key, std::vector<Candidate> candidates);
  void insert(const std::string& key_text, std::vector<Candidate> candidates);
  std::size_t size() const { return rows_.size(); }
  /// Changes when anything does that a choice may depend on, times included.
  std::uint64_t hash() const;

  const std::map<std::string, std::vector<Candidate>>& rows() const { return rows_; }

  /// Adds results to those that are there, in place of older ones.
  void add_checks(const KernelChecks& checks);
  const KernelChecks& checks() const { return checks_; }

 private:
  std::map<std::string, std::vector<Candidate>>
      rows_;  // by key text, so that the order is the same everywhere
  KernelChecks checks_;
};

/// Gives the candidates the times that `known` has for them. False when it lacks any: another
/// version may offer other kernels.
bool take_times(const KernelTable& known, const KernelKey& key, std::vector<Candidate>& candidates);

}  // namespace troika
