// A resource that does one thing at a time, in virtual time: a directed link, or a device that
// moves messages while it waits. The most urgent request is served first; one that becomes more
// urgent than the current one overtakes it at the next chunk border, which is computed and not
// simulated chunk by chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace troika {

/// The message of a step that a request is for, numbered by the simulation.
using RequestOwner = std::int32_t;

/// How long a message occupies the server.
struct Request {
  std::uint64_t urgency = 0;  ///< The greatest goes first;
  std::uint64_t order = 0;    ///< of equally urgent ones the least, then the first to arrive.
  SimTime arrived{};
  SimTime time{};  ///< Greater than 0.

  bool operator==(const Request&) const = default;
};

/// Requests that differ in nothing but their owners are one of their total time and end together,
/// so that no order among devices that do the same has to be made up.
///
/// All requests of an instant must be added before `serve` is called for it: the choice then does
/// not depend on the order in which they were added.
class Server {
 public:
  explicit Server(SimTime chunk) : chunk_(chunk) {}

  void add(const Request& request, RequestOwner owner);
  /// Begins, continues or changes over to the most urgent request. Returns when the caller must
  /// call `end_service` and `serve` again; nothing if the server is idle. An earlier answer is
  /// void.
  std::optional<SimTime> serve(SimTime now);
  /// At the instant that `serve` returned: the owners of what has ended then; empty at a chunk
  /// border at which a more urgent request overtakes.
  std::vector<RequestOwner> end_service(SimTime now);
  /// The first chunk border from now on, at which the server can stop; now if it is idle.
  SimTime border(SimTime now) const;
  /// Stops at a chunk border, as `border` gives it. What is left of the current request waits like
  /// the others; if nothing is left, it has ended: its owners.
  std::vector<RequestOwner> stop(SimTime at);
  /// While nothing is being served: serves the most urgent requests one after the other for at
  /// least `budget`, up to the end of a chunk or until none is left. Appends those that end, with
  /// their times. Returns when it stops.
  struct Ended {
    RequestOwner owner;
    SimTime time;
  };
  SimTime serve_for(SimTime budget, SimTime now, std::vector<Ended>& ended);

  bool is_idle() const { return waiting_.empty() && !current_; }
  /// Moves everything in time and calls each owner `rename(owner)`. Equal servers stay equal,
  /// whatever the order in which requests were added.
  template <class Rename>
  void shift(SimTime by, const Rename& rename);

  void clear() { waiting_.clear(), current_.reset(); }
  bool operator==(const Server&) const = default;

 private:
  struct Service {
    Request request;
    std::vector<RequestOwner> owners;

    /// The order of service.
    std::tuple<std::uint64_t, std::uint64_t, SimTime> key() const {
      return {~request.urgency, request.order, request.arrived};
    }
    bool is_before(const Service& other) const { return key() < other.key(); }
    bool operator==(const Service&) const = default;
  };
  SimTime end() const { return began_ + current_->request.time; }

  SimTime chunk_;
  std::vector<Service> waiting_;  // the most urgent first
  std::optional<Service> current_;
  SimTime began_{};  // of the current one, or of what was left of it
};

template <class Rename>
void Server::shift(SimTime by, const Rename& rename) {
  auto shift_one = [&](Service& service) {
    service.request.arrived += by;
    for (RequestOwner& owner : service.owners) owner = rename(owner);
    std::ranges::sort(service.owners);
  };
  for (Service& service : waiting_) shift_one(service);
  if (current_) {
    shift_one(*current_);
    began_ += by;
  } else {
    began_ = {};
  }
}

}  // namespace troika
