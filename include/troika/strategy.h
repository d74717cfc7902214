// How the work of a network is split over devices and placed on them.
#pragma once

#include <memory>
#include <string>

namespace troika {
namespace internal {
struct Plan;
}

// Inline, so that a user's troika::Strategy and the library's own type of that name stay apart.
inline namespace api {

/// The devices that a plan is made for.
struct Machine {
  int devices = 1;
  int threads = 1;  ///< Per device.
};
/// The one that the program runs on: today one device with all its cores.
Machine this_machine();

/// A plan for one network: a constant value, cheap to copy and safe to share between threads. A
/// Trainer that takes it says whether it can be run; a plan file that names the network it was made
/// for is refused for another.
class Strategy {
 public:
  /// Everything in one piece on one device.
  static Strategy single();
  /// From a plan file. Throws Error(file) with a sentence when it cannot be read or is no plan.
  static Strategy load(const std::string& path);

  /// Writes a plan file, all or nothing; throws Error(file).
  void save(const std::string& path) const;
  /// The text of the plan file: JSON.
  const std::string& json() const;

  bool operator==(const Strategy& other) const;

  /// Not for users: what the handle refers to.
  explicit Strategy(std::shared_ptr<const internal::Plan> plan) : plan_(std::move(plan)) {}
  const std::shared_ptr<const internal::Plan>& plan() const { return plan_; }

 private:
  std::shared_ptr<const internal::Plan> plan_;
};

}  // namespace api
}  // namespace troika
