#include <troika/trainer.h>

#include "api/engine.h"

namespace troika::api {

Trainer::Trainer(const nn::Module& network, const data::Source& samples, const loss::Loss& loss,
                 const optim::Optimizer& optimizer, const TrainerOptions& options)
    : engine_(internal::make_engine({network, samples, loss, optimizer, options})) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Strategy Trainer::plan(const Machine&) const { return Strategy::single(); }

FitResult Trainer::fit(const Strategy& plan, const FitOptions& options) {
  return engine_->fit(*plan.plan(), options);
}
Score Trainer::evaluate(const data::Source& samples) { return engine_->evaluate(samples); }
void Trainer::save(const std::string& path) { engine_->save(path); }
void Trainer::load(const std::string& path) { engine_->load(path); }
std::vector<std::string> Trainer::start_from(const std::string& path) {
  return engine_->start_from(path);
}
std::vector<NamedParameter> Trainer::parameters() const { return engine_->parameters(); }

}  // namespace troika::api
