#include "train/checkpoint_keeper.h"

#include <fmt/format.h>

#include "checkpoint/retention.h"

namespace troika {

void CheckpointKeeper::save(const RunState& state, Mark mark) {
  const bool is_new = saved_ != state.step;
  setting_.folder.require_writer();
  if (is_new) save_state(setting_.folder.checkpoints(), setting_.live, state);
  saved_ = state.step;
  // Marked at once: a resumed run reads the best value from the checkpoint and would not find this
  // one better again.
  if (mark == Mark::best && ranks().is_first())
    mark_best_checkpoint(setting_.folder.checkpoints(), state.step);
  if (!is_new) return;
  if (ranks().is_first()) tidy(state.step);
  // Wait here for the first rank: a long wait inside the next step looks like a lost peer.
  ranks().exchange("saved");
}

void CheckpointKeeper::tidy(std::int64_t step) {
  if (std::string warning = retain_checkpoints(setting_.folder.checkpoints(),
                                               static_cast<std::size_t>(setting_.keep));
      !warning.empty())
    setting_.progress.warn(warning);
  setting_.progress.saved((setting_.folder.checkpoints() / fmt::format("step-{}", step)).string());
}

}  // namespace troika
