#include "cli/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "cli/model_card.h"
#include "setup/auto_plan.h"
#include "setup/choose_strategy.h"
#include "setup/known_links.h"
#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "train/evaluate.h"
#include "train/feeds.h"
#include "train/training_sets.h"

namespace troika::cli {
namespace {

using Keys = std::initializer_list<std::string_view>;

/// One run file while it is checked: each step adds what it finds, and runs as far as the steps
/// before it allow.
class RunFileCheck {
 public:
  explicit RunFileCheck(RunReading reading) : reading_(std::move(reading)) {}

  std::string run() {
    bool has_good_keys = reading_.complaints.empty();
    bool is_known = check_name();
    check_data();
    if (is_known) check_model();
    // A refused key keeps its default, and a plan from defaults may be refused without cause.
    if (model_ && has_good_keys) check_strategy();
    if (!reading_.complaints.empty())
      throw Error(kind_.value_or(ErrorKind::usage),
                  config::report(reading_.complaints, reading_.path));
    return fmt::format("{} ({} parameters), {} ({} samples), {}", model_->name,
                       with_commas(count_parameters(*model_)), config().data.train,
                       with_commas(sets_.train->size()),
                       config().parallel.devices == 1
                           ? std::string("1 device")
                           : fmt::format("{} devices", config().parallel.devices));
  }

 private:
  const RunConfig& config() const { return reading_.run.config; }

  /// The place of the first key that was stated, or of its section.
  config::Where where(Keys keys) const {
    const config::Origins& origins = reading_.run.origins;
    for (std::string_view key : keys)
      if (auto found = origins.find(key); found != origins.end()) return found->second;
    auto section = origins.find(keys.begin()->substr(0, keys.begin()->find('.')));
    return section == origins.end() ? config::Where{} : section->second;
  }

  void complain(Keys keys, const std::string& message, ErrorKind kind = ErrorKind::usage) {
    bool is_first = reading_.complaints.empty();
    // The exit code is that of the complaints if they are all of one kind.
    kind_ = is_first || kind_ == kind ? kind : ErrorKind::usage;
    reading_.complaints.push_back({where(keys), message});
  }

  /// False if the action throws an Error, which becomes a complaint about the keys.
  template <class Action>
  bool attempt(Keys keys, Action&& action) {
    try {
      action();
      return true;
    } catch (const Error& error) {
      complain(keys, error.what(), error.kind());
      return false;
    }
  }

  bool check_name() {
    if (config().model.name.empty()) return false;  // reported already
    return attempt({"model.name"}, [&] { zoo::find(config().model.name); });
  }

  void check_data() {
    if (config().data.train.empty()) return;
    RunConfig untested = config();
    // One set at a time, so that an error is attributed to its key.
    untested.data.test.clear();
    untested.data.validation.clear();
    if (!attempt({"data.train"}, [&] { sets_ = open_sets(untested); })) return;
    attempt({"data.test"}, [&] { open_test(sets_, config()); });
    attempt({"data.validation"}, [&] { open_validation(sets_, config()); });
  }

  /// Without data the model has its usual size, so that its options are checked all the same.
  void check_model() {
    std::int64_t batch = config().train.global_batch;
    zoo::Samples samples =
        sets_.train ? samples_of(sets_.train->encoding(), config(), batch) : zoo::Samples{};
    try {
      zoo::Model model = build_model(config().model, samples);
      if (!sets_.train) return;
      attempt({"model.name"}, [&] { require_fed(model, samples); });
      attempt({"train.freeze"}, [&] { freeze_parameters(model, config().train.freeze); });
      attempt({"train.until", "checkpoint.best", "data.test", "data.validation"},
              [&] { require_evaluable(config(), sets_, model); });
      model_ = std::move(model);
    } catch (const Error& error) {
      std::istringstream lines(error.what());
      for (std::string line; std::getline(lines, line);) complain_about_model(line, error.kind());
    }
  }

  /// The zoo's messages quote the option that they are about.
  void complain_about_model(const std::string& message, ErrorKind kind) {
    for (const ModelOption& option : config().model.options)
      if (message.find(fmt::format("option '{}'", option.name)) != std::string::npos)
        return complain({"model." + option.name}, message, kind);
    complain({"model.name"}, message, kind);
  }

  void check_strategy() {
    Machine machine;
    machine.devices.resize(static_cast<std::size_t>(config().parallel.devices));
    attempt({"parallel.plan", "parallel.devices"}, [&] {
      // A search takes its time, and finds only plans that fit.
      if (config().parallel.plan.is_auto()) return require_auto_possible(config(), *model_);
      LinkCosts links = known_link_costs(default_links_file(config().kernels.cache));
      Strategy strategy = choose_strategy({config(), *model_, machine, links});
      if (auto reason = why_for_another_model(strategy, model_->train()))
        throw Error(ErrorKind::usage, *reason);
      for (const zoo::NamedGraph& named : model_->graphs)
        if (auto reason = why_infeasible(restricted(strategy, named.graph), named.graph, machine))
          throw Error(ErrorKind::usage,
                      *reason + batch_note(strategy, config().train.global_batch));
    });
  }

  RunReading reading_;
  std::optional<ErrorKind> kind_;
  TrainingSets sets_;
  std::optional<zoo::Model> model_;
};

}  // namespace

std::string check_run_file(RunReading reading) { return RunFileCheck(std::move(reading)).run(); }

}  // namespace troika::cli
