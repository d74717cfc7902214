#include <troika/error.h>
#include <troika/trainer.h>

#include "api/engine.h"

namespace troika {

Trainer::Trainer(const nn::Module& network, const data::Source& samples, const loss::Loss& loss,
                 const optim::Optimizer& optimizer, const TrainerOptions& options)
    : engine_(std::make_unique<internal::Engine>(
          internal::EngineRequest{network, samples, loss, optimizer, options})) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Strategy Trainer::plan(const Machine& machine) const {
  // One team of threads has no messages to send, so several devices must have equal shares of work
  // to be worth it.
  bool is_shared = machine.devices > 1 && engine_->global_batch() % machine.devices == 0;
  return is_shared ? plan(machine, "data") : Strategy::single();
}
Strategy Trainer::plan(const Machine& machine, std::string_view ready) const {
  if (ready.empty())
    throw Error(ErrorKind::usage,
                "the name of the plan is empty; give one such as \"data\" or \"tensor\"");
  return Strategy::parse(engine_->plan({.name = std::string(ready)}, machine.devices));
}
Strategy Trainer::plan(const Machine& machine, const PlanDegrees& degrees) const {
  return Strategy::parse(
      engine_->plan({.name = "", .data = degrees.data, .tensor = degrees.tensor}, machine.devices));
}

FitResult Trainer::fit(const Strategy& plan, const FitOptions& options) {
  return engine_->fit(plan.json(), options);
}
Score Trainer::evaluate(const data::Source& samples) { return engine_->evaluate(samples); }
std::vector<SamplePrediction> Trainer::predict(const data::Source& samples) {
  return engine_->predict(samples);
}
void Trainer::save(const std::string& path) { engine_->save(path); }
void Trainer::load(const std::string& path) { engine_->load(path); }
std::vector<std::string> Trainer::start_from(const std::string& path) {
  return engine_->start_from(path);
}
std::vector<NamedParameter> Trainer::parameters() const { return engine_->parameters(); }

}  // namespace troika
