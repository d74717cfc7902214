// Runs programs over one persistent state on the devices of this process. Memory is the state plus
// the largest arena, all of it allocated before the first step.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/transport.h"
#include "ops/step_scalars.h"
#include "runtime/executor.h"

namespace troika {

/// The first value of a step that was not finite.
struct NonFinite {
  std::size_t at = 0;  ///< Index of the task: names may repeat across devices.
  std::string task;
  std::string buffer;
};

/// The devices of the machine that this process drives.
struct SessionDevices {
  std::map<DeviceId, Device*> devices;
  Transport* transport = nullptr;  ///< Between all devices of the machine; null for one device.
  MoverThread mover = MoverThread::none;  ///< Of each device.
};

/// Owned and used by one thread. Borrows the devices, the transport and the backend.
class Session {
 public:
  Session(SessionDevices devices, const Backend& backend);
  ~Session();

  /// Adds a program of the devices of this process, or of all; buffers of the state that it shares
  /// with earlier ones must agree in spec and layout. All programs come before start(), the same
  /// ones in the same order on every rank.
  void add(TaskGraph program);
  /// Allocates state and arena, compiles every kernel, prepares every message. Throws
  /// Error(memory).
  void start();

  const TaskGraph& program(const std::string& name) const;
  /// Parameters and optimizer states, on devices of all processes; the same on every rank. Scratch
  /// state of steps is left out.
  const std::vector<StateEntry>& state() const { return storage_; }
  /// The slices of a tensor that devices of this process have.
  std::vector<StoredSlice> slices_here(const std::string& name) const;

  /// Copy a whole tensor between plain host bytes and the slices on devices of this process,
  /// converting layouts; slices of other processes are left unchanged. Like a run, this overwrites
  /// inputs and outputs, because layouts are converted in the arena.
  void load(const std::string& name, std::span<const std::byte> plain);
  void store(const std::string& name, std::span<std::byte> plain);
  /// The same for one slice on a device of this process.
  void load(const StoredSlice& slice, std::span<const std::byte> plain);
  void store(const StoredSlice& slice, std::span<std::byte> plain);
  bool is_here(DeviceId device) const { return places_.contains(device); }

  void write_scalar(Scalar which, double value);
  double read_control(Control which);
  void write_control(Control which, double value);
  /// Requests of this process to all (a stop, a save), as a number that the next step sums over all
  /// devices, and that sum. Only for several devices.
  void write_requests(double value);
  double read_requests(const std::string& program);

  /// Writes a batch of an input: all rows, or from `first_row` on the rows that devices of this
  /// process need; each device gets the parts that it reads. Inputs that the program does not read
  /// are ignored. All programs share one arena, and a program reuses the memory of an input after
  /// reading it: write every input right before each run, and read outputs before the next run of
  /// any program.
  void write_input(const std::string& program, const std::string& name,
                   std::span<const std::byte> batch, std::int64_t first_row = 0);
  void read_output(const std::string& program, const std::string& name, std::span<std::byte> to);
  bool has_output(const std::string& program, const std::string& name) const;

  /// Runs one step. Returns when it is done on all devices of this process, except for tasks that
  /// lag: they run beside the next steps, or before the state is read or another program runs.
  void run(const std::string& program);
  /// Runs the same step again and checks every value written, to find where a loss stopped being
  /// finite. Updates are skipped as long as the control word says so.
  std::optional<NonFinite> run_checked(const std::string& program);

  /// Times of the devices of this process in the last whole pass, see Executor::times. Empty before
  /// the first.
  Timeline timeline(const std::string& program) const;
  /// Times of the last run. Each total is the time from the call of run to its return.
  std::map<DeviceId, StepLedger> ledgers(const std::string& program) const;
  Bytes state_bytes() const;
  Bytes arena_bytes() const;
  /// Memory of prepared messages in addition to the buffers that they move.
  Bytes message_bytes() const;
  /// The sum of all three for one device.
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
  void run_pass(Program& program, LagRange lags);
  /// After a pass: gives each lag the scalars of the step that its tasks will belong to in the
  /// next.
  void hand_scalars_on();
  /// Runs what is left of the last steps.
  void drain();
  void submit(Place& place, Work& work);
  /// Runs on all devices of this process concurrently.
  void submit_all(const std::function<Work&(Place&)>& work);
  void reorder(Place& place, const TensorSpec& spec, Reorder layouts, DevicePointer from,
               DevicePointer to);
  /// The state buffers of that name, one per device of this process that has it.
  std::vector<StateBuffer*> state_called(const std::string& name);
  void write_number(const std::string& name, std::size_t at, double value);
  DevicePointer address(const TaskGraph& graph, BufferId id);
  std::optional<std::string> find_non_finite(const TaskGraph& graph, const Task& task);

  const SessionDevices devices_;
  const Backend& backend_;
  std::map<DeviceId, std::unique_ptr<Place>> places_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<StateEntry> storage_;
  std::unordered_map<std::string, std::vector<StoredSlice>> slices_here_;  // by tensor
  std::map<std::string, std::unique_ptr<StateBuffer>> state_;  // of devices here, by buffer name
  Scalars scalars_{};
  std::deque<Scalars> lagging_scalars_;  // for lag 1, 2, ...; as many as any program has
  Program* unfinished_ = nullptr;        // its last steps have tasks that have not run
  int steps_under_way_ = 0;              // of it; at most its largest lag
};

}  // namespace troika
