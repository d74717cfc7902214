#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "taskgraph/memory_table.h"

namespace troika {
namespace {

constexpr const char* kScalars = "step.scalars";
constexpr const char* kControl = "step.control";
const DeviceId kDevice{std::size_t{0}};

template <class T>
bool all_finite(std::span<const std::byte> bytes) {
  std::span<const T> values{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  return std::ranges::all_of(values, [](T value) { return std::isfinite(value); });
}

/// Runs a callable as device work.
template <class F>
class Call final : public Work {
 public:
  explicit Call(F& f) : f_(f) {}
  void run() override { f_(); }

 private:
  F& f_;
};

}  // namespace

struct Session::Program {
  TaskGraph graph;
  std::unique_ptr<Executor> executor;
};

Session::Session(Device& device, const Backend& backend)
    : device_(device),
      backend_(backend),
      kernels_(backend),
      control_(static_cast<std::size_t>(kControlCount)) {}

Session::~Session() = default;

void Session::add(TaskGraph graph) {
  for (const BufferSpec& buffer : graph.buffers) {
    if (!buffer.persistent) continue;
    StateEntry entry{buffer.name, buffer.spec, buffer.layout, buffer.category};
    auto [known, is_new] = state_by_name_.try_emplace(buffer.name, state_.size());
    if (is_new) {
      state_.push_back({entry, {}});
      continue;
    }
    const StateEntry& there = state_[known->second].entry;
    TROIKA_CHECK(there.spec == entry.spec && there.layout == entry.layout,
                 fmt::format("programs disagree about '{}'", entry.name));
  }
  programs_.push_back(std::make_unique<Program>(Program{std::move(graph), nullptr}));
}

void Session::start() {
  Bytes largest{}, arena{};
  for (StateBuffer& state : state_) {
    state.buffer = device_.allocate(
        stored_bytes(state.entry.layout, state.entry.spec.shape, state.entry.spec.dtype));
    if (state.entry.layout != Layout::plain) largest = std::max(largest, state.entry.spec.bytes());
  }
  for (const auto& program : programs_)
    arena = std::max(arena, program->graph.arena[kDevice.index()]);
  arena_ = device_.allocate(arena);
  if (largest.count > 0) staging_ = device_.allocate(largest);
  auto compile = [this] {
    for (const auto& program : programs_) start_program(*program);
  };
  // On the device's own thread: primitives are created for its team.
  Call work(compile);
  submit(work);
  if (state_by_name_.contains(kControl)) write_control(Control::ok, 1);
}

void Session::start_program(Program& program) {
  program.executor =
      std::make_unique<Executor>(program.graph, kDevice, kernels_, addresses(program.graph));
}

std::function<DevicePointer(BufferId)> Session::addresses(const TaskGraph& graph) {
  return [this, &graph](BufferId id) {
    const BufferSpec& root = graph[graph.root(id)];
    return root.persistent ? state_buffer(root.name).buffer.address()
                           : arena_.address() + root.offset.count;
  };
}

Session::Program& Session::find(const std::string& name) const {
  for (const auto& program : programs_) {
    if (program->graph.name == name) return *program;
  }
  throw Bug("no program is called " + name);
}

Session::StateBuffer& Session::state_buffer(const std::string& name) {
  auto found = state_by_name_.find(name);
  TROIKA_CHECK(found != state_by_name_.end(), "no state is called " + name);
  return state_[found->second];
}

const TaskGraph& Session::program(const std::string& name) const { return find(name).graph; }

std::vector<StateEntry> Session::state() const {
  std::vector<StateEntry> entries;
  for (const StateBuffer& state : state_) {
    if (state.entry.category != Category::workspace) entries.push_back(state.entry);
  }
  return entries;
}

std::map<std::string, Layout> Session::storage() const {
  std::map<std::string, Layout> layouts;
  for (const StateBuffer& state : state_) layouts[state.entry.name] = state.entry.layout;
  return layouts;
}

void Session::submit(Work& work) {
  device_.submit(work, done_);
  done_.wait();
}

void Session::reorder(const StateEntry& entry, Reorder layouts, DevicePointer from,
                      DevicePointer to) {
  Task task{
      .name = entry.name, .device = kDevice, .key = {layouts, {entry.spec}, Phase::forward, {}}};
  std::vector<Candidate> candidates = backend_.candidates(task.key);
  TROIKA_CHECK(!candidates.empty(), "no kernel for " + to_text(task.key));
  task.choice = {candidates[0].algorithm, {layouts.from, layouts.to}, candidates[0].scratch, {}};
  Buffer scratch = device_.allocate(candidates[0].scratch);
  auto launch = [&] {
    std::vector<DevicePointer> operands{from, to};
    kernels_.get(task).launch(operands, scratch.address());
  };
  Call work(launch);
  submit(work);
}

void Session::load(const std::string& name, std::span<const std::byte> plain) {
  StateBuffer& state = state_buffer(name);
  TROIKA_CHECK(static_cast<std::int64_t>(plain.size()) == state.entry.spec.bytes().count,
               "the size of " + name);
  if (state.entry.layout == Layout::plain) return device_.write(state.buffer.address(), plain);
  device_.write(staging_.address(), plain);
  reorder(state.entry, {Layout::plain, state.entry.layout}, staging_.address(),
          state.buffer.address());
}

void Session::store(const std::string& name, std::span<std::byte> plain) {
  StateBuffer& state = state_buffer(name);
  TROIKA_CHECK(static_cast<std::int64_t>(plain.size()) == state.entry.spec.bytes().count,
               "the size of " + name);
  if (state.entry.layout == Layout::plain) return device_.read(plain, state.buffer.address());
  reorder(state.entry, {state.entry.layout, Layout::plain}, state.buffer.address(),
          staging_.address());
  device_.read(plain, staging_.address());
}

void Session::write_scalar(Scalar which, double value) {
  auto found = state_by_name_.find(kScalars);
  if (found == state_by_name_.end()) return;
  DevicePointer at =
      state_[found->second].buffer.address() + static_cast<std::size_t>(which) * sizeof(double);
  device_.write(at, std::as_bytes(std::span(&value, 1)));
}

double Session::read_control(Control which) {
  double value = 0;
  DevicePointer at =
      state_buffer(kControl).buffer.address() + static_cast<std::size_t>(which) * sizeof(double);
  device_.read(std::as_writable_bytes(std::span(&value, 1)), at);
  return value;
}

void Session::write_control(Control which, double value) {
  DevicePointer at =
      state_buffer(kControl).buffer.address() + static_cast<std::size_t>(which) * sizeof(double);
  device_.write(at, std::as_bytes(std::span(&value, 1)));
}

void Session::write_input(const std::string& program, const std::string& name,
                          std::span<const std::byte> batch) {
  const TaskGraph& graph = find(program).graph;
  auto address = [&](BufferId id) { return arena_.address() + graph[graph.root(id)].offset.count; };
  if (auto whole = graph.inputs.find(name); whole != graph.inputs.end()) {
    TROIKA_CHECK(graph[whole->second].spec.bytes().count == static_cast<std::int64_t>(batch.size()),
                 "the size of " + name);
    return device_.write(address(whole->second), batch);
  }
  for (std::size_t part = 0;; ++part) {
    auto found = graph.inputs.find(name + "#" + std::to_string(part));
    if (found == graph.inputs.end()) return;
    auto bytes = static_cast<std::size_t>(graph[found->second].spec.bytes().count);
    device_.write(address(found->second), batch.first(bytes));
    batch = batch.subspan(bytes);
  }
}

void Session::read_output(const std::string& program, const std::string& name,
                          std::span<std::byte> to) {
  const TaskGraph& graph = find(program).graph;
  auto found = graph.outputs.find(name);
  TROIKA_CHECK(found != graph.outputs.end(), "no output is called " + name);
  TROIKA_CHECK(graph[found->second].layout == Layout::plain, name + " is not plain");
  device_.read(to, arena_.address() + graph[graph.root(found->second)].offset.count);
}

void Session::run(const std::string& program) { submit(*find(program).executor); }

std::optional<NonFinite> Session::run_checked(const std::string& name) {
  Program& program = find(name);
  auto address = addresses(program.graph);
  for (std::size_t at = 0; at < program.graph.tasks.size(); ++at) {
    auto launch = [&] { program.executor->run_task(at); };
    Call work(launch);
    submit(work);
    if (auto buffer = find_non_finite(program.graph, program.graph.tasks[at], address))
      return NonFinite{program.graph.tasks[at].name, *buffer};
  }
  return std::nullopt;
}

std::optional<std::string> Session::find_non_finite(
    const TaskGraph& graph, const Task& task,
    const std::function<DevicePointer(BufferId)>& address) {
  for (const BufferUse& use : task.uses) {
    const BufferSpec& buffer = graph[use.buffer];
    if (use.access == Access::read || buffer.spec.dtype == DType::i32) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes().count));
    device_.read(bytes, address(use.buffer));
    bool finite = dispatch(buffer.spec.dtype, [&]<class T>() { return all_finite<T>(bytes); });
    if (!finite) return buffer.name;
  }
  return std::nullopt;
}

Timeline Session::timeline(const std::string& program) const {
  return find(program).executor->timeline();
}

Bytes Session::state_bytes() const {
  Bytes total;
  for (const StateBuffer& state : state_) total += state.buffer.bytes();
  return total;
}

Bytes Session::arena_bytes() const { return arena_.bytes(); }

}  // namespace troika
