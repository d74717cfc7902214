// Names that other frameworks use for the keys of run.toml.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace troika::config {

struct OtherName {
  std::string_view name;
  std::string_view path;  ///< Ours: a key, or a section.
};

/// Names that differ too much from ours for a suggestion by spelling.
inline constexpr OtherName kOtherNames[] = {
    {"lr", "optimizer.learning_rate"},
    {"wd", "optimizer.weight_decay"},
    {"l2", "optimizer.weight_decay"},
    {"eps", "optimizer.epsilon"},
    {"optimizer", "optimizer.name"},
    {"scheduler", "optimizer.schedule.kind"},
    {"lr_scheduler", "optimizer.schedule.kind"},
    {"warmup_steps", "optimizer.schedule.warmup"},
    {"warmup_ratio", "optimizer.schedule.warmup"},
    {"gamma", "optimizer.schedule.factor"},
    {"param_groups", "optimizer.groups"},
    {"batch_size", "train.global_batch"},
    {"batch", "train.global_batch"},
    {"train_batch_size", "train.global_batch"},
    {"num_epochs", "train.epochs"},
    {"max_epochs", "train.epochs"},
    {"num_train_epochs", "train.epochs"},
    {"num_steps", "train.steps"},
    {"max_steps", "train.steps"},
    {"iterations", "train.steps"},
    {"random_seed", "train.seed"},
    {"grad_clip", "train.clip_norm"},
    {"max_grad_norm", "train.clip_norm"},
    {"gradient_clip_val", "train.clip_norm"},
    {"eval_every", "train.evaluate"},
    {"eval_steps", "train.evaluate"},
    {"accumulate_grad_batches", "parallel.micro_batches"},
    {"gradient_accumulation_steps", "parallel.micro_batches"},
    {"num_devices", "parallel.devices"},
    {"gpus", "parallel.devices"},
    {"world_size", "parallel.devices"},
    {"num_threads", "parallel.threads"},
    {"strategy", "parallel.plan"},
    {"zero", "parallel.sliced_update"},
    {"device", "kernels.backend"},
    {"accelerator", "kernels.backend"},
    {"precision", "kernels.dtype"},
    {"seq_len", "data.sequence"},
    {"block_size", "data.sequence"},
    {"max_length", "data.sequence"},
    {"transforms", "data.augment"},
    {"dataset", "data.train"},
    {"train_data", "data.train"},
    {"save_every", "checkpoint.every"},
    {"save_steps", "checkpoint.every"},
    {"save_total_limit", "checkpoint.keep"},
    {"logging_steps", "log.every"},
    {"log_every_n_steps", "log.every"},
    {"output_dir", "run.folder"},
    {"experiment", "run.name"},
    {"optim", "optimizer"},
    {"training", "train"},
    {"network", "model"},
};

inline std::optional<std::string_view> our_name(std::string_view name) {
  auto found = std::ranges::find(kOtherNames, name, &OtherName::name);
  return found == std::end(kOtherNames) ? std::nullopt : std::optional(found->path);
}

}  // namespace troika::config
