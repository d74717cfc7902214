// One step of a training run: samples to the devices, the programs, and what stopped them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "train/feeds.h"
#include "train/hosts.h"
#include "train/sample_rows.h"
#include "train/trainer.h"

namespace troika {
namespace {

/// Of the values that were not finite on any rank, the one that the program writes first.
std::optional<NonFinite> first_of_all(Ranks& ranks, const TaskGraph& program,
                                      const std::optional<NonFinite>& own) {
  std::size_t none = program.tasks.size();
  std::vector<std::string> all =
      ranks.exchange(fmt::format("{:012d}\n{}", own ? own->at : none, own ? own->buffer : ""));
  std::string first = *std::ranges::min_element(all);
  std::size_t at = std::stoul(first);
  if (at == none) return std::nullopt;
  return NonFinite{at, program.tasks[at].name, first.substr(first.find('\n') + 1)};
}

}  // namespace

void Trainer::open_loader(std::int64_t batch) {
  // A loader whose last batch was never used is ahead of the run.
  if (loader_ && loader_batch_ == batch && loader_->cursor() == state_.position) return;
  if (loader_) waited_before_ += std::chrono::duration<double>(loader_->waited()).count();
  Range rows{};
  for (const zoo::NamedGraph& graph : models_.at(batch).graphs)
    rows = hull(rows, sample_rows(live_.session(), graph.name, batch));
  loader_ = std::make_unique<data::Loader>(*sets_.train,
                                           data::LoaderOptions{.batch = batch,
                                                               .floating = config_.kernels.dtype,
                                                               .seed = state_.seed,
                                                               .position = state_.position,
                                                               .threads = usable_threads(),
                                                               .rows = rows});
  loader_batch_ = batch;
}

void Trainer::write_inputs(const zoo::NamedGraph& graph, const std::string& program,
                           const data::Batch& batch) {
  auto is_fed = [&](const std::string& name) {
    return std::ranges::count(graph.feeds, name, &zoo::Feed::input) > 0;
  };
  for (const data::HostField& field : batch.fields)
    if (!is_fed(field.name()))
      live_.session().write_input(program, field.name(), field.bytes(), batch.first_row);
  for (const zoo::Feed& feed : graph.feeds) {
    const TensorSpec& spec = graph.graph[find_tensor(graph.graph, feed.input)].spec;
    feed_.resize(static_cast<std::size_t>(spec.bytes().count));
    fill_feed(feed, spec, {state_.seed, static_cast<std::uint32_t>(state_.step)}, feed_);
    live_.session().write_input(program, feed.input, feed_);
  }
}

void Trainer::step(const data::Batch& batch) {
  Session& session = live_.session();
  session.write_scalar(Scalar::learning_rate, rate_at(state_.step));
  session.write_scalar(Scalar::update_step, static_cast<double>(state_.step + 1));
  session.write_scalar(Scalar::key_low, static_cast<double>(state_.seed & 0xffffffffu));
  session.write_scalar(Scalar::key_high, static_cast<double>(state_.seed >> 32));
  const std::vector<zoo::NamedGraph>& graphs = models_.at(loader_batch_).graphs;
  for (const zoo::NamedGraph& graph : graphs) {
    write_inputs(graph, graph.name, batch);
    live_.run(graph.name);
    if (session.read_control(Control::ok) == 0) explain_non_finite(graph, graph.name, batch);
    tally_.add(session.ledgers(graph.name));
    double loss = session.read_control(Control::loss);
    if (&graph == &graphs.front())
      tally_.loss += loss;
    else
      tally_.more[graph.name] += loss;
  }
  ++state_.step;
  state_.position += loader_batch_;
  ++tally_.steps;
  tally_.samples += loader_batch_;
}

Requests Trainer::step_with(const Requests& requests) {
  if (has_peers()) live_.session().write_requests(to_number(requests));
  step(*loader_->next());
  if (!has_peers()) return {};
  return parse_requests(
      live_.session().read_requests(models_.at(loader_batch_).graphs.back().name));
}

void Trainer::explain_non_finite(const zoo::NamedGraph& graph, const std::string& program,
                                 const data::Batch& batch) {
  // The sticky flag kept all weights as they were, so the same inputs give the same values again.
  write_inputs(graph, program, batch);
  std::optional<NonFinite> found = live_.session().run_checked(program);
  if (has_peers()) found = first_of_all(*ranks(), live_.session().program(program), found);
  std::string where =
      found ? fmt::format("the first value that is not finite is '{}', written by '{}'",
                          found->buffer, found->task)
            : "the replay of the step was finite";
  const char* what =
      std::isfinite(live_.session().read_control(Control::loss)) ? "gradient" : "loss";
  // On all ranks alike.
  throw SharedError(
      ErrorKind::numeric,
      fmt::format("the {} of step {} is not finite; {}. A lower learning rate than {:g}, a "
                  "longer warm-up or train.clip_norm may help",
                  what, state_.step + 1, where, rate_at(state_.step)));
}

}  // namespace troika
