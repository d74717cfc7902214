// The processes that train together, and this one's place among them. All that differs between
// one process and many goes through here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/transport.h"

namespace troika {

/// A failure that all ranks have met alike, so that they can end in order, each with its code.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// Used by the thread that drives the run. Every call but rank() and count() is made by all ranks
/// together, in the same order.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// The computer that this rank is on.
  virtual std::string host() const = 0;
  /// Between all devices of all ranks. Lives as long as this, at most.
  virtual std::unique_ptr<Transport> join(const std::vector<int>& rank_of_device) = 0;
  /// Runs what all ranks do together and wait for each other in; `call` is what a rank that waits
  /// in vain says it was doing.
  virtual void watched(const std::string& call, const std::function<void()>& body) = 0;

  bool is_first() const { return rank() == 0; }
  /// Every rank gives a text and gets all of them, by rank. Throws SharedError where one of them
  /// came to give_up instead.
  std::vector<std::string> exchange(const std::string& text);
  /// The first rank's.
  std::string agree(const std::string& text) { return exchange(text).front(); }
  /// This rank cannot go on, and the others are on their way to an exchange: they learn it there.
  /// Always throws SharedError.
  [[noreturn]] void give_up(const Error& error);
  /// Throws SharedError(usage) naming two ranks and the first line in which their texts differ.
  void require_agreement(const std::string& subject, const std::string& text);

 private:
  virtual std::vector<std::string> pass_round(const std::string& text) = 0;
  std::vector<std::string> meet(const std::string& status, const std::string& text);
};

}  // namespace troika
