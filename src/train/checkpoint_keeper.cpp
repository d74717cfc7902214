#include "train/checkpoint_keeper.h"

#include <fmt/format.h>

#include "checkpoint/retention.h"

namespace troika {

void CheckpointKeeper::save(const RunState& state, Mark mark) {
  const bool is_new = saved_ != state.step;
  s_.folder.require_writer();
  if (is_new) save_state(s_.folder.checkpoints(), s_.live, state);
  saved_ = state.step;
  // At once: a resumed run takes the best value from the checkpoint and would not mark it again.
  if (mark == Mark::best && ranks().is_first())
    mark_best_checkpoint(s_.folder.checkpoints(), state.step);
  if (!is_new) return;
  if (ranks().is_first()) tidy(state.step);
  // Otherwise the other ranks would wait for the first one inside the next step, where a long wait
  // looks like a lost peer.
  ranks().exchange("saved");
}

void CheckpointKeeper::tidy(std::int64_t step) {
  if (std::string warning =
          retain_checkpoints(s_.folder.checkpoints(), static_cast<std::size_t>(s_.keep));
      !warning.empty())
    s_.progress.warn(warning);
  s_.progress.saved((s_.folder.checkpoints() / fmt::format("step-{}", step)).string());
}

}  // namespace troika
