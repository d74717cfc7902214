#include "config/run_keys.h"

#include "config/key_kinds.h"
#include "config/run_values.h"

namespace troika::config {
namespace {

using enum PeriodUnit;

constexpr std::int64_t kMost = 1'000'000'000'000;
constexpr NumberRange kAboveZero{.min = 0, .min_open = true};
constexpr NumberRange kFromZero{.min = 0};
constexpr NumberRange kUnitOpenEnd{.min = 0, .max = 1, .max_open = true};

const KeyTable<RunSection>& section_keys() {
  static const KeyTable<RunSection> kKeys{{
      name_of_run(
          &RunSection::name,
          {"name", "name of the run folder; default: the name of this file without its extension"}),
      text(&RunSection::folder, {"folder", "folder that holds the run folders"}),
  }};
  return kKeys;
}

const KeyTable<ModelConfig>& model_keys() {
  static const KeyTable<ModelConfig> kKeys{
      {required(full_text(&ModelConfig::name, {"name",
                                               "name of a model, as `troika models` lists them; "
                                               "all other keys here are its options"}))},
      read_option,
      list_options};
  return kKeys;
}

const KeyTable<DataConfig>& data_keys() {
  static const KeyTable<DataConfig> kKeys{{
      required(full_text(
          &DataConfig::train,
          {"train", "training set as scheme:path, such as idx:mnist[0:8000] (docs/data.md)"})),
      text(&DataConfig::validation, {"validation",
                                     "validation set for until, best and patience: 10% or "
                                     "[begin:end] of train, or its own set"}),
      text(&DataConfig::test,
           {"test", "test set; if there is a validation set, evaluated only once, at the end"}),
      texts(&DataConfig::augment,
            {"augment", "random changes to each training image, such as \"crop 4\" and \"flip\""}),
      normalize(&DataConfig::normalize, {"normalize",
                                         "mean and deviation of the input; auto measures them, "
                                         "also those of numbers to predict"}),
      integer(
          &DataConfig::sequence,
          {"sequence",
           "tokens per sample of a text; default: 128, or the length of the longest separate text",
           "256"},
          {.min = 1, .max = kMost}),
  }};
  return kKeys;
}

const KeyTable<BatchScheduleConfig>& batch_schedule_keys() {
  static const KeyTable<BatchScheduleConfig> kKeys{{
      integer(&BatchScheduleConfig::factor,
              {"factor", "factor by which the global batch grows; 1 keeps it constant"},
              {.min = 1, .max = 1024}),
      period(&BatchScheduleConfig::every,
             {"every", "how often the global batch grows", "\"30 epochs\""}, {{epochs}}),
      integer(&BatchScheduleConfig::limit, {"limit", "largest global batch", "4096"},
              {.min = 1, .max = kMost}),
  }};
  return kKeys;
}

const KeyTable<TrainConfig>& train_keys() {
  using S = TrainConfig;
  static const KeyTable<S> kKeys{{
      integer(&S::global_batch, {"global_batch", "samples per step, over all devices together"},
              {.min = 1, .max = kMost}),
      integer(&S::epochs, {"epochs", "length of the training in passes over the training set", "2"},
              {.min = 1, .max = kMost}),
      integer(&S::steps, {"steps", "length of the training in steps, instead of epochs", "1000"},
              {.min = 1, .max = kMost}),
      condition(&S::until,
                {"until", "stop as soon as this condition holds", "\"test_accuracy >= 0.99\""}),
      integer(
          &S::patience,
          {"patience",
           "stop after this many evaluations without improvement of checkpoint.best (default: the "
           "loss of the validation or test set)",
           "5"},
          {.min = 1, .max = kMost}),
      integer(&S::seed,
              {"seed", "seed for initial weights, sample order, augmentation and dropout"},
              {.min = 0}),
      choice(&S::guard, {"guard", "which value must be finite for a step to be applied"}),
      integer(&S::shards,
              {"shards",
               "parts of the batch for batch norm and fixed-order sums, on any number of devices"},
              {.min = 1, .max = kMost}),
      number(&S::clip_norm,
             {"clip_norm", "largest norm of the whole gradient; larger gradients are scaled down",
              "1.0"},
             kAboveZero),
      texts(&S::freeze,
            {"freeze", "patterns of parameter names that are not trained, such as \"features.*\""}),
      period(&S::evaluate,
             {"evaluate", "how often to evaluate the model on the validation or test set"},
             {{epochs, steps, never}}),
      nested(&S::batch_schedule, {"batch_schedule", "a global batch that grows during the run"},
             batch_schedule_keys()),
  }};
  return kKeys;
}

const KeyTable<ScheduleConfig>& schedule_keys() {
  using S = ScheduleConfig;
  using enum S::Kind;
  static const Selector<S, S::Kind> kKind{"kind", &S::kind};
  static const KeyTable<S> kKeys{{
      choice(&S::kind, {"kind", "how the learning rate changes over the run"}),
      period(&S::warmup, {"warmup", "length of the linear warm-up of the learning rate"},
             {{percent, steps, epochs}, true}),
      only_for(
          kKind, {step},
          number(&S::factor, {"factor", "factor that the learning rate is multiplied by each time"},
                 kAboveZero)),
      only_for(kKind, {step},
               period(&S::every, {"every", "how often to apply the factor", "\"30 epochs\""},
                      {{epochs, steps, percent}})),
      only_for(kKind, {polynomial},
               number(&S::power, {"power", "exponent of the polynomial"}, kAboveZero)),
      only_for(
          kKind, {polynomial, cosine},
          number(&S::final_part, {"final", "final learning rate, as a fraction of learning_rate"},
                 {.min = 0, .max = 1})),
  }};
  return kKeys;
}

const KeyTable<GroupConfig>& group_keys() {
  static const KeyTable<GroupConfig> kKeys{{
      required(full_text(&GroupConfig::match,
                         {"match", "pattern of parameter names, such as \"*.bias\""})),
      number(&GroupConfig::weight_decay,
             {"weight_decay", "weight decay of these parameters; overrides the optimizer's"},
             kFromZero),
      number(&GroupConfig::learning_rate_factor,
             {"learning_rate_factor", "factor on the learning rate of these parameters"},
             kFromZero),
  }};
  return kKeys;
}

const KeyTable<OptimizerConfig>& optimizer_keys() {
  using S = OptimizerConfig;
  using enum S::Kind;
  static const Selector<S, S::Kind> kName{"name", &S::kind};
  static const KeyTable<S> kKeys{{
      choice(&S::kind, {"name", "optimizer algorithm"}),
      number(&S::learning_rate, {"learning_rate", "base learning rate; the schedule scales it"},
             kAboveZero),
      only_for(kName, {sgd, lars},
               number(&S::momentum, {"momentum", "momentum coefficient"}, kUnitOpenEnd)),
      only_for(kName, {sgd}, flag(&S::nesterov, {"nesterov", "use Nesterov momentum"})),
      only_for(kName, {adam, adamw, lamb},
               number(&S::beta1, {"beta1", "decay rate of the first moment"}, kUnitOpenEnd)),
      only_for(kName, {adam, adamw, lamb},
               number(&S::beta2, {"beta2", "decay rate of the second moment"}, kUnitOpenEnd)),
      only_for(kName, {adam, adamw, lars, lamb},
               number(&S::epsilon, {"epsilon", "added to the denominator for numerical stability"},
                      kAboveZero)),
      number(&S::weight_decay, {"weight_decay", "weight decay coefficient"}, kFromZero),
      only_for(kName, {lars},
               number(&S::trust, {"trust", "trust coefficient of LARS"}, kAboveZero)),
      nested(&S::schedule, {"schedule", "schedule of the learning rate"}, schedule_keys()),
      rows(&S::groups,
           {"groups",
            "other values for some parameters; the first group that matches a name applies"},
           group_keys()),
  }};
  return kKeys;
}

const KeyTable<ParallelConfig>& parallel_keys() {
  using S = ParallelConfig;
  static const KeyTable<S> kKeys{{
      integer(&S::devices,
              {"devices",
               "number of devices over all ranks; default: as many as the plan or the ranks need"},
              {.min = 1, .max = kMostDevices}),
      threads(&S::threads,
              {"threads", "threads per device; auto divides the cores among the devices"}),
      choice(&S::order,
             {"order",
              "order of floating-point sums; fixed gives the same bits on any number of devices"}),
      plan(&S::plan, {"plan",
                      "how to split the work over the devices; auto searches for the plan, and for "
                      "the number of devices unless one is given"}),
      integer(&S::micro_batches,
              {"micro_batches",
               "parts of the batch that are computed one after another, to save memory"},
              {.min = 1, .max = kMost}),
      flag(&S::sliced_update, {"sliced_update",
                               "each replica updates a part of the parameters, then all gather the "
                               "result; saves memory"}),
      flag(&S::carry_updates,
           {"carry_updates",
            "run updates that wait for messages during the forward pass of the next step"}),
      choice(
          &S::weights,
          {"weights", "share of the samples per device: equal, or proportional to measured speed"}),
      memory(&S::memory, {"memory", "memory per device; auto divides the memory of the machine"}),
  }};
  return kKeys;
}

const KeyTable<KernelsConfig>& kernels_keys() {
  static const KeyTable<KernelsConfig> kKeys{{
      choice(&KernelsConfig::backend,
             {"backend", "cpu: fast kernels (needs oneDNN); reference: slow, simple kernels"}),
      choice(&KernelsConfig::dtype, {"dtype", "number format of the computation"}),
      flag(&KernelsConfig::winograd,
           {"winograd", "allow Winograd convolutions, which round differently"}),
      flag(&KernelsConfig::measure,
           {"measure", "choose kernels by timing them; if false, by rule"}),
      text(&KernelsConfig::cache,
           {"cache",
            "folder for measured kernel times: auto (the user's cache folder), none, or a path"}),
  }};
  return kKeys;
}

const KeyTable<CheckpointConfig>& checkpoint_keys() {
  static const KeyTable<CheckpointConfig> kKeys{{
      period(&CheckpointConfig::every, {"every", "how often to write a checkpoint"},
             {{epochs, steps, seconds, never}}),
      integer(&CheckpointConfig::keep, {"keep", "how many of the newest checkpoints to keep"},
              {.min = 1, .max = kMost}),
      choice(&CheckpointConfig::best,
             {"best", "also keep the best checkpoint by this metric", "\"test_accuracy\""}),
  }};
  return kKeys;
}

const KeyTable<LogConfig>& log_keys() {
  static const KeyTable<LogConfig> kKeys{{
      period(&LogConfig::every, {"every", "how often to log metrics"}, {{steps, epochs, seconds}}),
  }};
  return kKeys;
}

const KeyTable<HeartbeatConfig>& heartbeat_keys() {
  using S = HeartbeatConfig;
  static const KeyTable<S> kKeys{{
      flag(&S::enabled,
           {"enabled",
            "let ranks watch each other over TCP; without it, a lost rank may go unnoticed"}),
      full_text(&S::interface, {"interface",
                                "network interface to listen on: auto, a name such as ib0, or a "
                                "network such as 10.1.0.0/16"}),
      ports(&S::ports, {"ports", "TCP ports to listen on, such as 20000-20099"}),
  }};
  return kKeys;
}

}  // namespace

const KeyTable<RunConfig>& run_keys() {
  using S = RunConfig;
  static const KeyTable<S> kKeys{{
      nested(&S::run, {"run", "name and folder of the run"}, section_keys()),
      required(nested(&S::model, {"model", "the model"}, model_keys())),
      required(nested(&S::data, {"data", "the data sets"}, data_keys())),
      nested(&S::train, {"train", "batch size, length and rules of training"}, train_keys()),
      nested(&S::optimizer, {"optimizer", "the optimizer"}, optimizer_keys()),
      nested(&S::parallel, {"parallel", "devices and how they share the work"}, parallel_keys()),
      nested(&S::kernels, {"kernels", "how operators are computed"}, kernels_keys()),
      nested(&S::checkpoint, {"checkpoint", "checkpoints"}, checkpoint_keys()),
      nested(&S::log, {"log", "metrics"}, log_keys()),
      nested(&S::heartbeat, {"heartbeat", "how the ranks of a run watch each other (docs/mpi.md)"},
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
