// Programs and their steps. The state of a session is in session_state.cpp.
#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.h"
#include "runtime/session_parts.h"
#include "taskgraph/memory_table.h"

namespace troika {
namespace {

template <class T>
bool all_finite(std::span<const std::byte> bytes) {
  std::span<const T> values{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  return std::ranges::all_of(values, [](T value) { return std::isfinite(value); });
}

/// Offset in bytes of a batch that begins with `first_row` in the whole tensor. Checks that the
/// batch contains the part.
std::size_t rows_before(const BufferSpec& part, std::span<const std::byte> batch,
                        std::int64_t first_row) {
  // A tensor of rank 0 counts as one row. All sizes are in bytes.
  std::int64_t size = size_of(part.spec.dtype).count * part.whole.elements(), row = size;
  std::int64_t rows = part.whole.rank() > 0 ? part.whole[0] : 1;
  if (rows > 0) row /= rows;
  std::int64_t end = part.whole.rank() > 0 ? part.region[0].end : 1;
  std::int64_t begin = part.whole.rank() > 0 ? part.region[0].begin : 0;
  auto given = static_cast<std::int64_t>(batch.size());
  // A batch may leave out rows that no device here reads, but a single row must be given whole.
  TROIKA_CHECK(first_row * row + given <= size && (first_row > 0 || given == size || rows > 1),
               "the size of " + part.part_of);
  TROIKA_CHECK(begin >= first_row && end * row <= first_row * row + given,
               "rows that a device reads are missing in " + part.part_of);
  return static_cast<std::size_t>(first_row * row);
}

}  // namespace

Session::Session(SessionDevices devices, const Backend& backend)
    : devices_(std::move(devices)), backend_(backend) {
  for (const auto& [id, device] : devices_.devices)
    places_[id] = std::make_unique<Place>(id, *device, backend);
}

Session::~Session() {
  try {
    drain();  // peers wait for it
  } catch (const std::exception&) {
    // The peers are gone; nobody waits for these tasks.
  }
  // After a failure operations may still be under way: the schedulers drop them before they go.
  for (const auto& [id, place] : places_) place->scheduler.reset();
  programs_.clear();
}

// Programs share state by buffer name. The places on all processes are listed, because every rank
// must know who stores what when it writes a checkpoint.
void Session::add(TaskGraph graph) {
  add_entries(storage_, graph.storage);
  for (const BufferSpec& buffer : graph.buffers)
    if (buffer.persistent && is_here(buffer.device)) check_agreement(buffer);
  for (const StoredSlice& slice : stored_slices(graph)) {
    std::vector<StoredSlice>& here = slices_here_[slice.of];
    bool is_known = std::ranges::any_of(here, [&](const StoredSlice& known) {
      return known.name == slice.name && known.offset == slice.offset;
    });
    if (is_here(slice.device) && !is_known) here.push_back(slice);
  }
  std::vector<DeviceId> here;
  for (const auto& [id, place] : places_) here.push_back(id);
  auto program = std::make_unique<Program>();
  program->largest_lag = largest_lag(graph);
  lagging_scalars_.resize(
      std::max(lagging_scalars_.size(), static_cast<std::size_t>(program->largest_lag)));
  program->graph = std::move(graph);
  // Tags continue after those of the previous program: the messages of all programs exist at once
  // on one transport, where addresses must be unique.
  const PreparedMessages none;
  program->messages =
      PreparedMessages(program->graph, here, programs_.empty() ? none : programs_.back()->messages);
  programs_.push_back(std::move(program));
}

// Memory comes first, because executors bind addresses; schedulers before programs, because
// operations are prepared on their transport.
void Session::start() {
  allocate_state();
  allocate_arenas();
  for (const auto& [id, place] : places_) {
    if (devices_.transport != nullptr)
      place->scheduler = std::make_unique<MoveScheduler>(*devices_.transport, id,
                                                         MoveSchedulerOptions{devices_.mover});
  }
  for (const auto& program : programs_) start_program(*program);
  // Only the host sets it to 1; with the 0 of fresh memory all updates would be skipped.
  write_control(Control::ok, 1);
}

// Programs run one at a time on a device, so one arena of the largest size serves all of them.
void Session::allocate_arenas() {
  for (const auto& [id, place] : places_) {
    Bytes largest;
    for (const auto& program : programs_)
      largest = std::max(largest, arena_needed(program->graph, id));
    place->arena = place->device.allocate(largest);
  }
}

// A view has no memory of its own: its address is an offset in the buffer at its root.
DevicePointer Session::address(const TaskGraph& graph, BufferId id) {
  const BufferSpec& root = graph[graph.root(id)];
  DevicePointer begin = root.persistent
                            ? state_buffer(root.name).buffer.address()
                            : places_.at(root.device)->arena.address() + root.offset.count;
  return begin + graph.offset_in_root(id).count;
}

/// On each device's own thread, because kernels are compiled for that thread's OpenMP team.
void Session::start_program(Program& program) {
  for (const auto& [id, place] : places_) {
    Place* here = place.get();
    std::function<DevicePointer(BufferId)> find_address = [&](BufferId buffer) {
      return address(program.graph, buffer);
    };
    std::function<std::unique_ptr<Operation>(CommunicationId, int)> operation =
        [&](CommunicationId communication, int member) {
          return make_operation(program, *here, communication, member);
        };
    Call work([&] {
      program.executors[here->id] = std::make_unique<Executor>(
          program.graph,
          ExecutorSetting{here->id, here->kernels, find_address, operation, here->scheduler.get()});
    });
    submit(*here, work);
  }
}

std::unique_ptr<Operation> Session::make_operation(const Program& program, Place& place,
                                                   CommunicationId id, int member) {
  TROIKA_CHECK(place.scheduler != nullptr, "several devices without a transport");
  const Communication& communication = program.graph[id];
  BufferId buffer = communication.buffers[static_cast<std::size_t>(member)];
  auto bytes = static_cast<std::size_t>(communication.bytes().count);
  std::span<std::byte> vector{address(program.graph, buffer), bytes}, input;
  // Only all_to_all is not in place: its buffer holds the input and, behind it, the output.
  if (communication.call.kind == Collective::all_to_all)
    input = vector, vector = {input.data() + bytes, bytes};
  const PreparedMessages::Part& part = program.messages.part(id, member);
  return std::make_unique<Operation>(
      *part.recipe, Member{member, communication.devices}, MemberBuffers{vector, input},
      BindOptions{communication.dtype, communication.rule, part.tags},
      place.scheduler->transport());
}

Session::Program& Session::find(const std::string& name) const {
  for (const auto& program : programs_) {
    if (program->graph.name == name) return *program;
  }
  throw Bug("no program is called " + name);
}

const TaskGraph& Session::program(const std::string& name) const { return find(name).graph; }

void Session::submit(Place& place, Work& work) {
  place.device.submit(work, place.done);
  place.done.wait();
}

// Submits to all devices before it waits for any, because the devices wait for each other's
// messages. All events are waited for even after a failure: the work is borrowed until then.
void Session::submit_all(const std::function<Work&(Place&)>& work) {
  for (const auto& [id, place] : places_) place->device.submit(work(*place), place->done);
  // A device that failed because a peer did is not the cause: report the other error.
  std::exception_ptr cause, consequence;
  for (const auto& [id, place] : places_) {
    try {
      place->done.wait();
    } catch (const Error& error) {
      std::exception_ptr& failure = error.kind() == ErrorKind::peer ? consequence : cause;
      if (!failure) failure = std::current_exception();
    } catch (...) {
      if (!cause) cause = std::current_exception();
    }
  }
  if (cause) std::rethrow_exception(cause);
  if (consequence) std::rethrow_exception(consequence);
}

void Session::write_input(const std::string& program, const std::string& name,
                          std::span<const std::byte> batch, std::int64_t first_row) {
  // Within one program, memory that keeps a value until the next pass is not shared with an input.
  // Another program divides the arena differently.
  if (unfinished_ != &find(program)) drain();
  const TaskGraph& graph = find(program).graph;
  for (const auto& [input, id] : graph.inputs) {
    const BufferSpec& part = graph[id];
    if ((part.part_of.empty() ? input : part.part_of) != name || !is_here(part.device)) continue;
    Place& place = *places_.at(part.device);
    DevicePointer to = address(graph, id);
    if (part.part_of.empty()) {
      TROIKA_CHECK_EQ(part.spec.bytes().count, static_cast<std::int64_t>(batch.size()));
      place.device.write(to, batch);
      continue;
    }
    // Each device copies its own region; offsets in the whole tensor become offsets in the batch.
    std::size_t before = rows_before(part, batch, first_row);
    for_region(part, part.region, [&](std::size_t whole, std::size_t own, std::size_t bytes) {
      place.device.write(to + own, batch.subspan(whole - before, bytes));
    });
  }
}

bool Session::has_output(const std::string& program, const std::string& name) const {
  return std::ranges::any_of(find(program).graph.outputs,
                             [&](const auto& output) { return is_called(output.first, name); });
}

void Session::read_output(const std::string& program, const std::string& name,
                          std::span<std::byte> to) {
  const TaskGraph& graph = find(program).graph;
  for (const auto& [output, id] : graph.outputs) {
    if (!is_called(output, name) || !is_here(graph[id].device)) continue;
    TROIKA_CHECK(graph[id].layout == Layout::plain, name + " is not plain");
    return places_.at(graph[id].device)->device.read(to, address(graph, id));
  }
  throw Bug("no output here is called " + name);
}

void Session::run_pass(Program& program, LagRange lags) {
  for (const auto& [id, executor] : program.executors) executor->set_lags(lags);
  // Cleared first: if the run throws, the destructor must not try to run the rest.
  unfinished_ = nullptr;
  auto start = std::chrono::steady_clock::now();
  submit_all([&](Place& place) -> Work& { return *program.executors.at(place.id); });
  program.took = std::chrono::steady_clock::now() - start;
  // The host writes the next step's scalars before the lagging tasks of this one have run.
  if (program.largest_lag > 0) hand_scalars_on();
}

// Each further pass leaves out one more lag, because no new step begins.
void Session::drain() {
  if (unfinished_ == nullptr) return;
  Program& program = *unfinished_;
  for (int first = 1; first <= program.largest_lag; ++first)
    run_pass(program, {first, std::min(steps_under_way_ + first - 1, program.largest_lag)});
}

// Steps of one program in a row overlap: tasks that lag run inside later ones, such as updates,
// each just before its result is needed. `unfinished_` says whose are due.
void Session::run(const std::string& name) {
  Program& program = find(name);
  if (unfinished_ != &program) drain();
  int before = unfinished_ == &program ? steps_under_way_ : 0;
  run_pass(program, {0, before});
  if (program.largest_lag == 0) return;
  unfinished_ = &program;
  steps_under_way_ = std::min(before + 1, program.largest_lag);
}

std::optional<NonFinite> Session::run_checked(const std::string& name) {
  drain();
  Program& program = find(name);
  // Tasks that lag run at the end of this step, so all of them get its own scalars.
  for (int lag = 1; lag <= program.largest_lag; ++lag) hand_scalars_on();
  // All devices look for values that are not finite at once, each up to its first.
  std::mutex mutex;
  std::map<std::size_t, std::string> found;  // by task
  std::map<DeviceId, std::unique_ptr<Work>> work;
  for (const auto& [id, place] : places_) {
    Executor* executor = program.executors.at(id).get();
    auto check = [&, executor] {
      executor->run_watched([&](std::size_t task) {
        auto buffer = find_non_finite(program.graph, program.graph.tasks[task]);
        if (!buffer) return true;
        std::scoped_lock lock(mutex);
        found[task] = *buffer;
        return false;
      });
    };
    work[id] = std::make_unique<Call<decltype(check)>>(check);
  }
  submit_all([&](Place& place) -> Work& { return *work.at(place.id); });
  if (found.empty()) return std::nullopt;
  // The smallest index comes first in the graph; the others may only have inherited its values.
  auto [task, buffer] = *found.begin();
  return NonFinite{task, program.graph.tasks[task].name, buffer};
}

std::optional<std::string> Session::find_non_finite(const TaskGraph& graph, const Task& task) {
  for (const BufferUse& use : task.uses) {
    const BufferSpec& buffer = graph[use.buffer];
    // Integers are always finite.
    if (use.access == Access::read || buffer.spec.dtype == DType::i32) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes().count));
    places_.at(task.device)->device.read(bytes, address(graph, use.buffer));
    bool finite = dispatch(buffer.spec.dtype, [&]<class T>() { return all_finite<T>(bytes); });
    if (!finite) return buffer.name;
  }
  return std::nullopt;
}

// Times of all devices in this process are on one steady clock; the earliest task becomes time 0.
Timeline Session::timeline(const std::string& name) const {
  const Program& program = find(name);
  std::map<std::size_t, Executor::TaskTimes> all;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const auto& [id, executor] : program.executors) {
    for (const Executor::TaskTimes& times : executor->times()) {
      all[times.task] = times;
      begin = std::min(begin, times.start);
    }
  }
  Timeline timeline;
  for (const auto& [task, times] : all) {
    const Task& ran = program.graph.tasks[task];
    timeline.spans.push_back({ran.id, ran.device, {times.start - begin}, {times.end - begin}});
  }
  return timeline;
}

std::map<DeviceId, StepLedger> Session::ledgers(const std::string& name) const {
  const Program& program = find(name);
  std::map<DeviceId, StepLedger> all;
  for (const auto& [id, executor] : program.executors) {
    StepLedger& ledger = all[id] = executor->ledger();
    ledger.other += program.took - ledger.total();  // handing over, and waiting for the last device
  }
  return all;
}

Bytes Session::state_bytes() const {
  Bytes total;
  for (const auto& [name, state] : state_) total += state->buffer.bytes();
  return total;
}

Bytes Session::message_bytes() const {
  Bytes total;
  for (const auto& program : programs_)
    for (const auto& [id, executor] : program->executors) total += executor->message_bytes();
  return total;
}

Bytes Session::allocated(DeviceId device) const {
  Bytes total = places_.at(device)->arena.bytes();
  for (const auto& [name, state] : state_)
    if (state->spec.device == device) total += state->buffer.bytes();
  for (const auto& program : programs_) total += program->executors.at(device)->message_bytes();
  return total;
}

Bytes Session::arena_bytes() const {
  Bytes total;
  for (const auto& [id, place] : places_) total += place->arena.bytes();
  return total;
}

}  // namespace troika
