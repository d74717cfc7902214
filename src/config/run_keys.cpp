#include "config/run_keys.h"

#include "config/key_kinds.h"
#include "config/run_values.h"

namespace troika::config {
namespace {

using enum PeriodUnit;

constexpr std::int64_t kMostDevices = 65536;
constexpr std::int64_t kMost = 1'000'000'000'000;
constexpr NumberRange kAboveZero{.min = 0, .min_open = true};
constexpr NumberRange kFromZero{.min = 0};
constexpr NumberRange kUnitOpenEnd{.min = 0, .max = 1, .max_open = true};

const KeyTable<RunSection>& section_keys() {
  static const KeyTable<RunSection> kKeys{{
      name_of_run(&RunSection::name, {"name", "name of the run; default: the name of this file"}),
      text(&RunSection::folder, {"folder", "where run folders are made"}),
  }};
  return kKeys;
}

const KeyTable<ModelConfig>& model_keys() {
  static const KeyTable<ModelConfig> kKeys{
      {required(full_text(&ModelConfig::name,
                          {"name", "a network of the zoo; every other key is an option of it"}))},
      read_option,
      list_options};
  return kKeys;
}

const KeyTable<DataConfig>& data_keys() {
  static const KeyTable<DataConfig> kKeys{{
      required(full_text(&DataConfig::train,
                         {"train", "training samples: scheme:path, such as idx:mnist[0:8000]"})),
      text(
          &DataConfig::validation,
          {"validation",
           "samples that until, best and patience look at: 10% or [begin:end] of train, or a set"}),
      text(&DataConfig::test,
           {"test", "test samples; with validation they are evaluated once, at the end"}),
      texts(&DataConfig::augment, {"augment", "random changes per sample, such as \"crop 4\""}),
      normalize(&DataConfig::normalize, {"normalize", "shift and scale of the input"}),
      integer(&DataConfig::sequence, {"sequence", "tokens per sample of a text", "256"},
              {.min = 1, .max = kMost}),
  }};
  return kKeys;
}

const KeyTable<BatchScheduleConfig>& batch_schedule_keys() {
  static const KeyTable<BatchScheduleConfig> kKeys{{
      integer(&BatchScheduleConfig::factor,
              {"factor", "multiplies the global batch each time; 1: the batch stays"},
              {.min = 1, .max = 1024}),
      period(&BatchScheduleConfig::every,
             {"every", "how often the batch is multiplied", "\"30 epochs\""}, {{epochs}}),
      integer(&BatchScheduleConfig::limit, {"limit", "no batch above this one", "4096"},
              {.min = 1, .max = kMost}),
  }};
  return kKeys;
}

const KeyTable<TrainConfig>& train_keys() {
  using S = TrainConfig;
  static const KeyTable<S> kKeys{{
      integer(&S::global_batch, {"global_batch", "samples per step, over all devices"},
              {.min = 1, .max = kMost}),
      integer(&S::epochs, {"epochs", "how long to train, in passes over the samples", "2"},
              {.min = 1, .max = kMost}),
      integer(&S::steps, {"steps", "how long to train, in steps, instead of epochs", "1000"},
              {.min = 1, .max = kMost}),
      condition(&S::until, {"until", "stop once this holds", "\"test_accuracy >= 0.99\""}),
      integer(&S::patience,
              {"patience", "stop after so many evaluations without a better one", "5"},
              {.min = 1, .max = kMost}),
      integer(&S::seed, {"seed", "decides weights, sample order and dropout"}, {.min = 0}),
      choice(&S::guard, {"guard", "what is looked at to skip a step that is not finite"}),
      integer(&S::shards, {"shards", "parts of the batch seen by batch norm and fixed-order sums"},
              {.min = 1, .max = kMost}),
      number(&S::clip_norm, {"clip_norm", "longest gradient; unset: not clipped", "1.0"},
             kAboveZero),
      texts(&S::freeze, {"freeze", "patterns of parameters to keep, such as \"features.*\""}),
      period(&S::evaluate, {"evaluate", "how often the validation or test samples are evaluated"},
             {{epochs, steps, never}}),
      nested(&S::batch_schedule, {"batch_schedule", "a batch that grows instead of a falling rate"},
             batch_schedule_keys()),
  }};
  return kKeys;
}

const KeyTable<ScheduleConfig>& schedule_keys() {
  using S = ScheduleConfig;
  using enum S::Kind;
  static const Selector<S, S::Kind> kKind{"kind", &S::kind};
  static const KeyTable<S> kKeys{{
      choice(&S::kind, {"kind", "how the rate falls"}),
      period(&S::warmup, {"warmup", "linear rise of the rate at the start"},
             {{percent, steps, epochs}, true}),
      only_for(kKind, {step}, number(&S::factor, {"factor", "multiplies the rate"}, kAboveZero)),
      only_for(kKind, {step},
               period(&S::every, {"every", "how often the rate is multiplied", "\"30 epochs\""},
                      {{epochs, steps, percent}})),
      only_for(kKind, {polynomial},
               number(&S::power, {"power", "exponent of the descent"}, kAboveZero)),
      only_for(kKind, {polynomial, cosine},
               number(&S::final_part, {"final", "rate at the end, as a part of learning_rate"},
                      {.min = 0, .max = 1})),
  }};
  return kKeys;
}

const KeyTable<GroupConfig>& group_keys() {
  static const KeyTable<GroupConfig> kKeys{{
      required(full_text(&GroupConfig::match, {"match", "pattern over parameter names"})),
      number(&GroupConfig::weight_decay, {"weight_decay", "instead of that of the optimizer"},
             kFromZero),
      number(&GroupConfig::learning_rate_factor, {"learning_rate_factor", "multiplies the rate"},
             kFromZero),
  }};
  return kKeys;
}

const KeyTable<OptimizerConfig>& optimizer_keys() {
  using S = OptimizerConfig;
  using enum S::Kind;
  static const Selector<S, S::Kind> kName{"name", &S::kind};
  static const KeyTable<S> kKeys{{
      choice(&S::kind, {"name", "update rule"}),
      number(&S::learning_rate, {"learning_rate", "the full rate"}, kAboveZero),
      only_for(kName, {sgd, lars},
               number(&S::momentum, {"momentum", "part of the last update kept"}, kUnitOpenEnd)),
      only_for(kName, {sgd}, flag(&S::nesterov, {"nesterov", "look ahead along the momentum"})),
      only_for(kName, {adam, adamw, lamb},
               number(&S::beta1, {"beta1", "decay of the first moment"}, kUnitOpenEnd)),
      only_for(kName, {adam, adamw, lamb},
               number(&S::beta2, {"beta2", "decay of the second moment"}, kUnitOpenEnd)),
      only_for(kName, {adam, adamw, lars, lamb},
               number(&S::epsilon, {"epsilon", "added to the divisor"}, kAboveZero)),
      number(&S::weight_decay, {"weight_decay", "pull of the weights towards zero"}, kFromZero),
      only_for(kName, {lars},
               number(&S::trust, {"trust", "trust coefficient of each layer"}, kAboveZero)),
      nested(&S::schedule, {"schedule", "the rate over the run"}, schedule_keys()),
      rows(&S::groups, {"groups", "other values for some parameters; the first match counts"},
           group_keys()),
  }};
  return kKeys;
}

const KeyTable<ParallelConfig>& parallel_keys() {
  using S = ParallelConfig;
  static const KeyTable<S> kKeys{{
      integer(&S::devices, {"devices", "devices in all, over all ranks"},
              {.min = 1, .max = kMostDevices}),
      threads(&S::threads, {"threads", "threads of each device"}),
      choice(&S::order, {"order", "fixed: the same bits on any number of devices"}),
      plan(&S::plan, {"plan", "how the work is split"}),
      integer(&S::micro_batches, {"micro_batches", "parts of the batch, one after the other"},
              {.min = 1, .max = kMost}),
      flag(&S::sliced_update, {"sliced_update", "each replica updates a part, and all gather it"}),
      flag(&S::carry_updates, {"carry_updates", "updates run beside the next step's forward"}),
      choice(&S::weights,
             {"weights", "samples per device: equal, or by the measured speed of each rank"}),
      memory(&S::memory, {"memory", "of each device"}),
  }};
  return kKeys;
}

const KeyTable<KernelsConfig>& kernels_keys() {
  static const KeyTable<KernelsConfig> kKeys{{
      choice(&KernelsConfig::backend, {"backend", "fast kernels, or plain ones to compare with"}),
      choice(&KernelsConfig::dtype, {"dtype", "numbers to compute in"}),
      flag(&KernelsConfig::winograd, {"winograd", "allow Winograd convolutions"}),
      flag(&KernelsConfig::measure, {"measure", "choose kernels by timing them; false: by rule"}),
      text(&KernelsConfig::cache,
           {"cache", "folder of measured times: auto (the user's cache), none, or a path"}),
  }};
  return kKeys;
}

const KeyTable<CheckpointConfig>& checkpoint_keys() {
  static const KeyTable<CheckpointConfig> kKeys{{
      period(&CheckpointConfig::every, {"every", "how often the run is saved"},
             {{epochs, steps, seconds, never}}),
      integer(&CheckpointConfig::keep, {"keep", "how many of the newest are kept"},
              {.min = 1, .max = kMost}),
      choice(&CheckpointConfig::best,
             {"best", "also keep the best by this metric", "\"test_accuracy\""}),
  }};
  return kKeys;
}

const KeyTable<LogConfig>& log_keys() {
  static const KeyTable<LogConfig> kKeys{{
      period(&LogConfig::every, {"every", "how often a line is logged"},
             {{steps, epochs, seconds}}),
  }};
  return kKeys;
}

const KeyTable<HeartbeatConfig>& heartbeat_keys() {
  using S = HeartbeatConfig;
  static const KeyTable<S> kKeys{{
      flag(&S::enabled, {"enabled", "ranks watch each other; false: a lost one may go unnoticed"}),
      full_text(&S::interface,
                {"interface", "auto, a name such as ib0, or a network such as 10.1.0.0/16"}),
      ports(&S::ports, {"ports", "TCP ports to listen at, such as 20000-20099"}),
  }};
  return kKeys;
}

}  // namespace

const KeyTable<RunConfig>& run_keys() {
  using S = RunConfig;
  static const KeyTable<S> kKeys{{
      nested(&S::run, {"run", "this run"}, section_keys()),
      required(nested(&S::model, {"model", "the network"}, model_keys())),
      required(nested(&S::data, {"data", "the samples"}, data_keys())),
      nested(&S::train, {"train", "the training"}, train_keys()),
      nested(&S::optimizer, {"optimizer", "the update rule"}, optimizer_keys()),
      nested(&S::parallel, {"parallel", "the devices"}, parallel_keys()),
      nested(&S::kernels, {"kernels", "how operators are computed"}, kernels_keys()),
      nested(&S::checkpoint, {"checkpoint", "saving"}, checkpoint_keys()),
      nested(&S::log, {"log", "progress"}, log_keys()),
      nested(&S::heartbeat, {"heartbeat", "how ranks of several processes watch each other"},
             heartbeat_keys()),
  }};
  return kKeys;
}

std::vector<Entry> list_run(const RunConfig& config) {
  std::vector<Entry> entries;
  list_table(config, run_keys(), "", entries);
  return entries;
}

}  // namespace troika::config
