// The persistent state of a session: its memory, and reading and writing it from the host.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/session_parts.h"

namespace troika {
namespace {

/// Name of the buffers and outputs that lower/close_loss.cpp adds for requests.
constexpr const char* kRequests = "step.requests";

}  // namespace

void Session::check_agreement(const BufferSpec& buffer) {
  std::unique_ptr<StateBuffer>& known = state_[buffer.name];
  if (!known) known = std::make_unique<StateBuffer>(StateBuffer{buffer, {}});
  TROIKA_CHECK(known->spec.spec == buffer.spec && known->spec.layout == buffer.layout,
               fmt::format("programs disagree about '{}'", buffer.name));
}

void Session::allocate_state() {
  for (const auto& [name, state] : state_)
    state->buffer = places_.at(state->spec.device)->device.allocate(state->spec.bytes());
}

std::vector<StoredSlice> Session::slices_here(const std::string& name) const {
  auto found = slices_here_.find(name);
  return found == slices_here_.end() ? std::vector<StoredSlice>{} : found->second;
}

Session::StateBuffer& Session::state_buffer(const std::string& name) {
  auto found = state_.find(name);
  TROIKA_CHECK(found != state_.end(), "no state is called " + name);
  return *found->second;
}

// Runs a reorder kernel outside of any program. It allocates its scratch, which is acceptable
// because state is converted only when it is loaded or stored.
void Session::reorder(Place& place, const TensorSpec& spec, Reorder layouts, DevicePointer from,
                      DevicePointer to) {
  Task task{.name = "reorder", .device = place.id, .key = {layouts, {spec}, Phase::forward, {}}};
  std::vector<Candidate> candidates = backend_.candidates(task.key);
  TROIKA_CHECK(!candidates.empty(), "no kernel for " + to_text(task.key));
  task.choice = {candidates[0].algorithm, {layouts.from, layouts.to}, candidates[0].scratch, {}};
  Buffer scratch = place.device.allocate(candidates[0].scratch);
  // On the device's thread, because kernels are compiled for its OpenMP team.
  Call work([&] {
    std::vector<DevicePointer> operands{from, to};
    place.kernels.get(task).launch(operands, scratch.address(), {});
  });
  submit(place, work);
}

void Session::load(const StoredSlice& slice, std::span<const std::byte> plain) {
  drain();
  StateBuffer& state = state_buffer(slice.name);
  Place& place = *places_.at(slice.device);
  Bytes element = size_of(state.spec.spec.dtype);
  TROIKA_CHECK(static_cast<std::int64_t>(plain.size()) == (element * slice.region.elements()).count,
               "the size of " + slice.name);
  if (state.spec.layout == Layout::plain)
    return place.device.write(state.buffer.address() + (element * slice.offset).count, plain);
  // The arena has room for the plain form of any state (see arena_needed) and is free between runs.
  place.device.write(place.arena.address(), plain);
  reorder(place, state.spec.spec, {Layout::plain, state.spec.layout}, place.arena.address(),
          state.buffer.address());
}

void Session::store(const StoredSlice& slice, std::span<std::byte> plain) {
  drain();
  StateBuffer& state = state_buffer(slice.name);
  Place& place = *places_.at(slice.device);
  Bytes element = size_of(state.spec.spec.dtype);
  TROIKA_CHECK(static_cast<std::int64_t>(plain.size()) == (element * slice.region.elements()).count,
               "the size of " + slice.name);
  if (state.spec.layout == Layout::plain)
    return place.device.read(plain, state.buffer.address() + (element * slice.offset).count);
  // Through the arena, like load.
  reorder(place, state.spec.spec, {state.spec.layout, Layout::plain}, state.buffer.address(),
          place.arena.address());
  place.device.read(plain, place.arena.address());
}

// Cuts each slice out of the plain tensor, run by run, into dense memory.
void Session::load(const std::string& name, std::span<const std::byte> plain) {
  for (const StoredSlice& slice : slices_here(name)) {
    const BufferSpec& spec = state_buffer(slice.name).spec;
    TROIKA_CHECK(static_cast<std::int64_t>(plain.size()) ==
                     spec.whole.elements() * size_of(spec.spec.dtype).count,
                 "the size of " + name);
    std::int64_t size = size_of(spec.spec.dtype).count;
    std::vector<std::byte> part(static_cast<std::size_t>(slice.region.elements() * size));
    for_region(spec, slice.region, [&](std::size_t whole, std::size_t own, std::size_t bytes) {
      std::memcpy(part.data() + own, plain.data() + whole, bytes);
    });
    load(slice, part);
  }
}

void Session::store(const std::string& name, std::span<std::byte> plain) {
  for (const StoredSlice& slice : slices_here(name)) {
    const BufferSpec& spec = state_buffer(slice.name).spec;
    std::int64_t size = size_of(spec.spec.dtype).count;
    std::vector<std::byte> part(static_cast<std::size_t>(slice.region.elements() * size));
    store(slice, part);
    for_region(spec, slice.region, [&](std::size_t whole, std::size_t own, std::size_t bytes) {
      std::memcpy(plain.data() + whole, part.data() + own, bytes);
    });
  }
}

// "name" and all "name@device" follow each other in the sorted map, perhaps with other names that
// begin alike in between.
std::vector<Session::StateBuffer*> Session::state_called(const std::string& name) {
  std::vector<StateBuffer*> called;
  for (auto at = state_.lower_bound(name); at != state_.end() && at->first.starts_with(name); ++at)
    if (is_called(at->first, name)) called.push_back(at->second.get());
  return called;
}

// Each device has its own copy of scalars and control words, and all copies get the same value.
void Session::write_number(const std::string& name, std::size_t at, double value) {
  for (StateBuffer* state : state_called(name))
    places_.at(state->spec.device)
        ->device.write(state->buffer.address() + at * sizeof(double),
                       std::as_bytes(std::span(&value, 1)));
}

void Session::write_scalar(Scalar which, double value) {
  // No drain: tasks that lag read their own copy of the scalars (see hand_scalars_on).
  auto at = static_cast<std::size_t>(which);
  scalars_[at] = value;
  write_number(kScalarsName, at, value);
}

void Session::hand_scalars_on() {
  lagging_scalars_.push_front(scalars_);
  lagging_scalars_.pop_back();
  for (std::size_t older = 0; older < lagging_scalars_.size(); ++older) {
    std::string name = scalars_name(static_cast<int>(older) + 1);
    for (std::size_t at = 0; at < scalars_.size(); ++at)
      write_number(name, at, lagging_scalars_[older][at]);
  }
}

// Tasks that lag do not write the control word (see check_lags.h), so it is final after run() even
// while they are due. The copies of all devices agree.
double Session::read_control(Control which) {
  std::vector<StateBuffer*> words = state_called(kControlName);
  if (words.empty()) throw Bug("no program has a control word");
  const StateBuffer& word = *words.front();
  double value = 0;
  places_.at(word.spec.device)
      ->device.read(std::as_writable_bytes(std::span(&value, 1)),
                    word.buffer.address() + static_cast<std::size_t>(which) * sizeof(double));
  return value;
}

void Session::write_control(Control which, double value) {
  // Updates that lag still read the value of their own step.
  drain();
  write_number(kControlName, static_cast<std::size_t>(which), value);
}

void Session::write_requests(double value) {
  // The sum counts each process once, so only one of its devices holds the number.
  std::vector<StateBuffer*> words = state_called(kRequests);
  if (!words.empty())
    places_.at(words.front()->spec.device)
        ->device.write(words.front()->buffer.address(), std::as_bytes(std::span(&value, 1)));
}

double Session::read_requests(const std::string& program) {
  double sum = 0;
  if (has_output(program, kRequests))
    read_output(program, kRequests, std::as_writable_bytes(std::span(&sum, 1)));
  return sum;
}

}  // namespace troika
