// Programs over one persistent state, on real devices: what a trainer drives. Memory = state + the
// largest arena, all of it allocated before the first step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/step_scalars.h"
#include "runtime/executor.h"

namespace troika {

/// One buffer of the persistent state.
struct StateEntry {
  std::string name;
  TensorSpec spec;
  Layout layout = Layout::plain;
  Category category = Category::parameter;
};

/// The first value of a step that was not finite.
struct NonFinite {
  std::string task;
  std::string buffer;
};

/// Owned and used by one thread. Borrows the device and the backend.
class Session {
 public:
  Session(Device& device, const Backend& backend);
  ~Session();

  /// Adds a program; buffers of the state that it shares with earlier ones must agree in spec and
  /// layout. All programs come before start().
  void add(TaskGraph program);
  /// Allocates state and arena, compiles every kernel. Throws Error(memory).
  void start();

  const TaskGraph& program(const std::string& name) const;
  /// Parameters and optimizer states, in the order they were first seen; scratch state of steps is
  /// left out.
  std::vector<StateEntry> state() const;
  std::map<std::string, Layout> storage() const;

  /// Plain host bytes to and from a state buffer, through its layout.
  void load(const std::string& name, std::span<const std::byte> plain);
  void store(const std::string& name, std::span<std::byte> plain);

  void write_scalar(Scalar which, double value);
  double read_control(Control which);
  void write_control(Control which, double value);

  /// A whole batch of an input, cut into the program's micro-batches. Inputs that the program does
  /// not read are ignored. All programs share one arena, and within a program an input's place is
  /// used again once it has been read: write every input right before each run, and read outputs
  /// before the next run of any program.
  void write_input(const std::string& program, const std::string& name,
                   std::span<const std::byte> batch);
  void read_output(const std::string& program, const std::string& name, std::span<std::byte> to);

  /// One step. Returns when it is done.
  void run(const std::string& program);
  /// The same step again, looking at every value written; for finding out where a loss stopped
  /// being finite. Updates skip as long as the control word says so.
  std::optional<NonFinite> run_checked(const std::string& program);

  Timeline timeline(const std::string& program) const;
  Bytes state_bytes() const;
  Bytes arena_bytes() const;

 private:
  struct Program;
  struct StateBuffer {
    StateEntry entry;
    Buffer buffer;
  };

  Program& find(const std::string& name) const;
  StateBuffer& state_buffer(const std::string& name);
  void start_program(Program& program);
  void submit(Work& work);
  void reorder(const StateEntry& entry, Reorder layouts, DevicePointer from, DevicePointer to);
  std::optional<std::string> find_non_finite(const TaskGraph& graph, const Task& task,
                                             const std::function<DevicePointer(BufferId)>& address);
  std::function<DevicePointer(BufferId)> addresses(const TaskGraph& graph);

  Device& device_;
  const Backend& backend_;
  KernelCache kernels_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<StateBuffer> state_;
  std::map<std::string, std::size_t> state_by_name_;
  Buffer arena_;
  Buffer staging_;  // for load and store: the largest state buffer, plain
  Event done_;
  std::vector<double> control_;
};

}  // namespace troika
