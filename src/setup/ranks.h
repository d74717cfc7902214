// The processes that train together. One process is a group of one, so callers never distinguish
// the two cases.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/transport.h"

namespace troika {

/// An error that every rank has learned of, so that all of them exit in order with the same code.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// Not thread-safe: used by the thread that drives the run. All calls except rank(), count(),
/// is_first() and host() are collective: every rank makes them, in the same order.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// Name of the computer that this rank runs on.
  virtual std::string host() const = 0;
  /// Returns a transport between all devices of all ranks. It must not outlive this object.
  virtual std::unique_ptr<Transport> join(const std::vector<int>& rank_of_device) = 0;
  /// Runs `body`, in which the ranks wait for each other. `call` names it in the error of a rank
  /// that waits for a lost peer.
  virtual void watched(const std::string& call, const std::function<void()>& body) = 0;

  bool is_first() const { return rank() == 0; }
  /// Returns the texts of all ranks, indexed by rank. Throws SharedError if a rank called give_up
  /// instead.
  std::vector<std::string> exchange(const std::string& text);
  /// Returns the text of the first rank.
  std::string agree(const std::string& text) { return exchange(text).front(); }
  /// Reports that this rank cannot continue; the others get the error from their next exchange.
  /// Always throws SharedError.
  [[noreturn]] void give_up(const Error& error);
  /// Throws SharedError(usage) naming two ranks and the first line in which their texts differ.
  void require_agreement(const std::string& subject, const std::string& text);

 private:
  virtual std::vector<std::string> pass_round(const std::string& text) = 0;
  std::vector<std::string> meet(const std::string& status, const std::string& text);
};

/// The group of a process that runs alone. It has no state, so all threads may share it.
Ranks& sole_rank();

}  // namespace troika
