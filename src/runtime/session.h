// Programs over one persistent state, on the devices of this process: what a training drives.
// Memory = state + the largest arena, all of it allocated before the first step.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "comm/transport.h"
#include "ops/step_scalars.h"
#include "runtime/executor.h"

namespace troika {

/// One tensor of the persistent state, as the model knows it.
struct StateEntry {
  std::string name;
  TensorSpec spec;
  Category category = Category::parameter;
};

/// The first value of a step that was not finite.
struct NonFinite {
  std::size_t at = 0;  ///< The task's place in the program: names may repeat over devices.
  std::string task;
  std::string buffer;
};

/// Who computes: the devices of the machine that this process drives.
struct SessionDevices {
  std::map<DeviceId, Device*> devices;
  Transport* transport = nullptr;  ///< Between all devices of the machine; null where one is alone.
  /// A thread per device that moves messages while it computes, where cores are free for it.
  bool moves_beside = false;
};

/// Owned and used by one thread. Borrows the devices, the transport and the backend.
class Session {
 public:
  Session(SessionDevices devices, const Backend& backend);
  ~Session();

  /// Adds a program; buffers of the state that it shares with earlier ones must agree in spec and
  /// layout. All programs come before start(), the same ones in the same order on every rank.
  void add(TaskGraph program);
  /// Allocates state and arena, compiles every kernel, prepares every message. Throws
  /// Error(memory).
  void start();

  const TaskGraph& program(const std::string& name) const;
  /// Parameters and optimizer states, in the order they were first seen, whole; scratch state of
  /// steps is left out.
  std::vector<StateEntry> state() const;
  /// The parts of them that programs store, on devices of all processes.
  const std::vector<StoredSlice>& storage() const { return storage_; }
  /// Those of a tensor that devices here have.
  std::vector<StoredSlice> slices_here(const std::string& name) const;

  /// Plain host bytes of a whole tensor to and from what devices here have of it, through their
  /// layouts; what none of them has is left as it is. Like a run, this spoils inputs and outputs:
  /// layouts are changed in the arena.
  void load(const std::string& name, std::span<const std::byte> plain);
  void store(const std::string& name, std::span<std::byte> plain);
  /// The same for one slice that a device here has.
  void load(const StoredSlice& slice, std::span<const std::byte> plain);
  void store(const StoredSlice& slice, std::span<std::byte> plain);
  bool is_here(DeviceId device) const { return places_.contains(device); }

  void write_scalar(Scalar which, double value);
  double read_control(Control which);
  void write_control(Control which, double value);
  /// What this process asks of all (a stop, a save), as a number that is added up over all devices
  /// in the next step, and that sum; only where there are several devices.
  void write_requests(double value);
  double read_requests(const std::string& program);

  /// A batch of an input, whole or from `first_row` on as far as devices here need it; each device
  /// gets the parts that it reads. Inputs that the program does not read are ignored. All programs
  /// share one arena, and within a program an input's place is used again once it has been read:
  /// write every input right before each run, and read outputs before the next run of any program.
  void write_input(const std::string& program, const std::string& name,
                   std::span<const std::byte> batch, std::int64_t first_row = 0);
  void read_output(const std::string& program, const std::string& name, std::span<std::byte> to);
  bool has_output(const std::string& program, const std::string& name) const;

  /// One step. Returns when it is done on all devices here, but for what is carried into the next
  /// one: that is made up for before anybody looks at the state or another program runs.
  void run(const std::string& program);
  /// The same step again, looking at every value written; for finding out where a loss stopped
  /// being finite. Updates skip as long as the control word says so.
  std::optional<NonFinite> run_checked(const std::string& program);

  /// Of the devices here, in the last run that held a whole step: with the carried tasks of the
  /// step before, or with its own where they have been made up for. Empty before the first.
  Timeline timeline(const std::string& program) const;
  /// Of the last run. The total of each is the time from the call of run to its return.
  std::map<DeviceId, StepLedger> ledgers(const std::string& program) const;
  Bytes state_bytes() const;
  Bytes arena_bytes() const;
  /// What prepared messages hold beside the buffers that they move.
  Bytes message_bytes() const;
  /// All three of one device.
  Bytes allocated(DeviceId device) const;

 private:
  using Scalars = std::array<double, static_cast<std::size_t>(kScalarCount)>;
  struct Program;
  struct StateBuffer;
  struct Place;

  Program& find(const std::string& name) const;
  StateBuffer& state_buffer(const std::string& name);
  void check_agreement(const BufferSpec& buffer);
  void allocate_state();
  void allocate_arenas();
  void start_program(Program& program);
  std::unique_ptr<Operation> make_operation(const Program& program, Place& place,
                                            CommunicationId id, int member);
  void run_part(Program& program, LoopPart part);
  /// What a step carries over reads its scalars there, while the next one has others.
  void hand_scalars_on();
  /// Runs what the last step has carried over.
  void finish_step();
  void submit(Place& place, Work& work);
  /// On every device here at once.
  void submit_all(const std::function<Work&(Place&)>& work);
  void reorder(Place& place, const TensorSpec& spec, Reorder layouts, DevicePointer from,
               DevicePointer to);
  /// The state buffers of that name, one for each device here that has it.
  std::vector<StateBuffer*> state_called(const std::string& name);
  void write_number(const std::string& name, std::size_t at, double value);
  DevicePointer address(const TaskGraph& graph, BufferId id);
  std::optional<std::string> find_non_finite(const TaskGraph& graph, const Task& task);

  const SessionDevices devices_;
  const Backend& backend_;
  std::map<DeviceId, std::unique_ptr<Place>> places_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<StoredSlice> storage_;
  std::unordered_set<std::string> stored_;                                 // names of storage_
  std::unordered_map<std::string, std::vector<std::size_t>> slices_here_;  // in storage_, by tensor
  std::map<std::string, std::unique_ptr<StateBuffer>> state_;  // of devices here, by buffer name
  std::vector<StateEntry> entries_;
  std::unordered_set<std::string> entry_names_;
  Scalars scalars_{};
  Program* unfinished_ = nullptr;  // whose last step has tasks to be carried over
};

}  // namespace troika
