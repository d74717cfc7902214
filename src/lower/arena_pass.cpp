#include "lower/arena_pass.h"

#include <algorithm>
#include <utility>

namespace troika {

void ArenaPass::begin(std::size_t tasks) {
  ++pass_;
  last_ = tasks == 0 ? 0 : static_cast<std::int32_t>(tasks) - 1;
  alive_.clear();
}

/// Views are followed to what they are views of when they are first met in a pass.
std::int32_t ArenaPass::root_of(std::int32_t buffer) {
  while (true) {
    if (lives_.size() < buffers_.size()) lives_.resize(buffers_.size());
    if (lives_[as_index(buffer)].pass != pass_) {
      std::int32_t view_of = buffers_[buffer].view_of;
      if (lives_.size() < buffers_.size()) lives_.resize(buffers_.size());
      lives_[as_index(buffer)] = {
          .parent = view_of < 0 ? buffer : view_of, .pass = pass_, .shares = view_of >= 0};
      if (view_of < 0) alive_.push_back(buffer);
    }
    std::int32_t parent = lives_[as_index(buffer)].parent;
    if (parent == buffer) return buffer;
    buffer = parent;
  }
}

void ArenaPass::touch(Life& life, std::int32_t place) {
  life.first = life.touched ? std::min(life.first, place) : place;
  life.last = life.touched ? std::max(life.last, place) : place;
  life.touched = true;
}

void ArenaPass::use(std::int32_t buffer, std::int32_t place, std::int16_t lag) {
  Life& life = lives_[as_index(root_of(buffer))];
  // Tasks of different lags: its value must last from one pass to the next.
  if (life.used && life.lag != lag) life.outlives_pass = true;
  life.used = true;
  life.lag = lag;
  touch(life, place);
}

void ArenaPass::add_input(std::int32_t buffer) {
  Life& life = lives_[as_index(root_of(buffer))];
  life.input = true;
  touch(life, 0);
}

void ArenaPass::hold(std::int32_t buffer) {
  Life& life = lives_[as_index(root_of(buffer))];
  life.held = true;
  touch(life, last_);
}

void ArenaPass::store(std::int32_t buffer) { (void)root_of(buffer); }

void ArenaPass::end_uses() {
  for (std::int32_t buffer : alive_) {
    Life& life = lives_[as_index(buffer)];
    if (!life.outlives_pass) continue;
    touch(life, 0);
    touch(life, last_);
  }
}

void ArenaPass::share(const PassTask& task, std::int32_t place,
                      std::span<const std::int32_t> uses) {
  for (const InPlace& pair : *task.in_place) {
    if (!can_take(place, uses, pair)) continue;
    std::int32_t operand = uses[as_index(pair.read)], result = uses[as_index(pair.write)];
    Life &life = lives_[as_index(root_of(operand))], &taken = lives_[as_index(result)];
    // The memory now lives as long as the result and all its views.
    life.first = std::min(life.first, taken.first);
    life.last = std::max(life.last, taken.last);
    life.outlives_pass = life.outlives_pass || taken.outlives_pass;
    life.held = life.held || taken.held;
    taken.parent = operand;
    taken.shares = true;
  }
}

/// Whether the memory of the operand is free for the result once the task has read it.
bool ArenaPass::can_take(std::int32_t place, std::span<const std::int32_t> uses,
                         const InPlace& pair) {
  std::int32_t operand = uses[as_index(pair.read)], result = uses[as_index(pair.write)];
  std::int32_t root = root_of(operand);
  const Life &life = lives_[as_index(root)], &taken = lives_[as_index(result)];
  if (taken.shares || life.held || life.outlives_pass || life.last != place) return false;
  if (buffers_[root].persistent || buffers_[result].persistent) return false;
  if (buffers_[operand].bytes < buffers_[result].bytes) return false;
  // The host writes the next input while the result is still needed.
  if (life.input && taken.outlives_pass) return false;
  // Another operand in the same memory could be read after it was overwritten.
  return std::ranges::count_if(uses, [&](std::int32_t use) { return root_of(use) == root; }) == 1;
}

ArenaPass::Peak ArenaPass::find_peak(std::span<const PassTask> tasks) {
  change_.assign(as_index(last_) + 2, 0);
  for (std::int32_t buffer : alive_) {
    const Life& life = lives_[as_index(buffer)];
    const BufferMemory& memory = buffers_[buffer];
    if (life.parent != buffer || memory.persistent || !life.touched) continue;
    change_[as_index(life.first)] += memory.aligned;
    change_[as_index(life.last) + 1] -= memory.aligned;
  }
  std::int64_t live = 0, most = -1;
  std::int32_t fullest = 0;
  for (std::int32_t place = 0; place <= last_; ++place) {
    live += change_[as_index(place)];
    std::int64_t scratch = tasks.empty() ? 0 : tasks[as_index(place)].scratch;
    if (live + scratch > most) most = live + scratch, fullest = place;
  }
  Peak peak{.bytes = {most}};
  for (std::int32_t buffer : alive_) {
    const Life& life = lives_[as_index(buffer)];
    const BufferMemory& memory = buffers_[buffer];
    if (life.parent != buffer || memory.persistent || !life.touched) continue;
    if (life.first <= fullest && fullest <= life.last)
      peak.categories[as_index(static_cast<int>(memory.category))] += Bytes{memory.aligned};
  }
  if (!tasks.empty())
    peak.categories[as_index(static_cast<int>(Category::workspace))] +=
        Bytes{tasks[as_index(fullest)].scratch};
  return peak;
}

std::vector<std::int32_t> ArenaPass::states() {
  std::vector<std::int32_t> found;
  for (std::int32_t buffer : alive_) {
    const BufferMemory& memory = buffers_[buffer];
    if (!memory.persistent) continue;
    auto state = as_index(memory.state);
    if (counted_.size() <= state) counted_.resize(state + 1, -1);
    if (std::exchange(counted_[state], pass_) != pass_) found.push_back(buffer);
  }
  return found;
}

}  // namespace troika
