// A resource that does one thing at a time, in virtual time: a directed link, or a device that
// moves messages while it waits. The most urgent request is served first; one that becomes more
// urgent than the current one overtakes it at the next chunk border, which is computed and not
// simulated chunk by chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
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
  /// Appends what the future depends on, relative to `now`; `note_owner(owner, to)` appends what an
  /// owner is, the same for the same message of every step.
  template <class NoteOwner>
  void describe(SimTime now, const NoteOwner& note_owner, std::vector<std::int64_t>& to) const;

 private:
  struct Service {
    Request request;
    std::vector<RequestOwner> owners;

    /// The order of service.
    std::tuple<std::uint64_t, std::uint64_t, SimTime> key() const {
      return {~request.urgency, request.order, request.arrived};
    }
    bool is_before(const Service& other) const { return key() < other.key(); }
  };
  SimTime end() const { return began_ + current_->request.time; }

  const SimTime chunk_;
  std::vector<Service> waiting_;  // the most urgent first
  std::optional<Service> current_;
  SimTime began_{};  // of the current one, or of what was left of it
};

template <class NoteOwner>
void Server::describe(SimTime now, const NoteOwner& note_owner,
                      std::vector<std::int64_t>& to) const {
  auto add_service = [&](const Service& service) {
    std::vector<std::vector<std::int64_t>> owners;  // their order depends on that of events
    for (RequestOwner owner : service.owners) note_owner(owner, owners.emplace_back());
    std::ranges::sort(owners);
    to.insert(to.end(), {(service.request.arrived - now).count, service.request.time.count,
                         std::ssize(owners)});
    for (const std::vector<std::int64_t>& owner : owners)
      to.insert(to.end(), owner.begin(), owner.end());
  };
  to.insert(to.end(), {std::ssize(waiting_), current_ ? 1 : 0});
  for (const Service& service : waiting_) add_service(service);
  if (!current_) return;
  to.push_back((began_ - now).count);
  add_service(*current_);
}

}  // namespace troika
