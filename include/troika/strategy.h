// How the work of a network is split over devices and placed on them.
//
//   troika::Machine two = troika::this_machine({.devices = 2});
//   troika::Strategy halves = trainer.plan(two, "data");   // or "tensor", "spatial", ...
//   halves.save("halves.json");
//   trainer.fit(troika::Strategy::load("halves.json"));
#pragma once

#include <string>

namespace troika {

// The library has types of its own that are called Strategy and Machine. The inline namespace keeps
// the symbols of the public ones apart from them; a user never writes it. See src/api/engine.h.
inline namespace api {

/// The devices that a plan is made for. A plain value.
///
/// A device of a CPU is a team of threads; all devices are alike and live in this process.
struct Machine {
  int devices = 1;
  int threads = 1;  ///< Of each device.
};

struct MachineOptions {
  /// At least 1. The usable cores are divided among them.
  int devices = 1;
};

/// The cores that this process may use: its affinity, the CPU quota of its control group and
/// OMP_NUM_THREADS, whichever is least. One device has all of them; with more devices than cores
/// each has one thread. Throws Error(usage) for a number of devices outside [1, 4096].
Machine this_machine(const MachineOptions& options = {});

/// How many times each kind of parallelism splits the work; their product is the number of devices.
/// Devices of one tensor group are neighbours.
struct PlanDegrees {
  int data = 1;    ///< Groups that share the samples of a batch.
  int tensor = 1;  ///< Devices of a group, which share each layer.
};

/// A plan: which part of each operator runs on which device. A constant value: copies are
/// independent, and any number of threads may use one at once.
///
/// A ready plan depends on the network, so a Trainer makes it (Trainer::plan). The number of
/// devices is part of the plan; the number of threads is not. A plan that names the network it was
/// made for is refused by a trainer of another network.
class Strategy {
 public:
  /// Everything in one piece on one device. Fits every network.
  static Strategy single();
  /// Reads a plan file, described in docs/parallel.md. Throws Error(file) if it cannot be read or
  /// is not a plan.
  static Strategy load(const std::string& path);
  /// The same from the text of such a file.
  static Strategy parse(const std::string& json);

  /// Writes a plan file: all of it, or nothing and Error(file).
  void save(const std::string& path) const;
  /// The text of the plan file.
  const std::string& json() const { return json_; }

  bool operator==(const Strategy&) const = default;

 private:
  explicit Strategy(std::string json) : json_(std::move(json)) {}

  std::string json_;  // as the library writes it, so that equal plans have equal texts
};

}  // namespace api
}  // namespace troika
