#include "train/step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/evaluate.h"
#include "train/feeds.h"

namespace troika {
namespace {

/// Where a step stopped being finite, on any rank.
struct Culprit {
  std::string task, buffer;
};

/// Returns, over all ranks, the value that is not finite and that the program writes first. Texts
/// start with what tasks are listed by, zero-padded, so that the smallest text is the first task.
std::optional<Culprit> first_of_all(Ranks& ranks, const TaskGraph& program,
                                    const std::optional<NonFinite>& own) {
  const std::string none = "none";  // behind all numbers
  std::string text = none;
  if (own) {
    const Task& task = program.tasks[own->at];
    text = fmt::format("{:04d} {:016x} {:08x}{:08x}\n{}\n{}", task.lag, task.turn.bits,
                       static_cast<std::uint32_t>(task.id.fragment),
                       static_cast<std::uint32_t>(task.id.index), task.name, own->buffer);
  }
  std::vector<std::string> all = ranks.exchange(text);
  std::string first = *std::ranges::min_element(all);
  if (first == none) return std::nullopt;
  std::size_t name = first.find('\n') + 1, buffer = first.find('\n', name) + 1;
  return Culprit{first.substr(name, buffer - 1 - name), first.substr(buffer)};
}

// Stops are counted above three bits, which only the first rank sets, so the sum over any number of
// ranks can be taken apart again.
double to_number(const Requests& requests) {
  return (requests.log ? 1 : 0) + (requests.save ? 2 : 0) + (requests.evaluate ? 4 : 0) +
         (requests.stop ? 8 : 0);
}

Requests parse_requests(double sum) {
  auto number = static_cast<long long>(std::llround(sum));
  return {number >= 8, (number & 1) != 0, (number & 2) != 0, (number & 4) != 0};
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void add_ledgers(const std::map<DeviceId, StepLedger>& ledgers, StepResult& result) {
  std::chrono::nanoseconds most{};
  for (const auto& [device, step] : ledgers) {
    result.ledger += step;
    most = std::max(most, step.moving + step.waiting);
  }
  result.messages += most;
}

}  // namespace

StepResult StepRunner::run(const StepStart& start) {
  open_loader(start);
  write_scalars(start);
  StepResult result{.samples = start.batch};
  run_graphs(start, *loader_->next(), result);
  if (has_peers())
    // Every program sums the requests along with its loss (lower/close_loss.cpp); one is enough.
    result.agreed = parse_requests(
        setting_.live.session().read_requests(setting_.models.at(start.batch).graphs.back().name));
  return result;
}

double StepRunner::waited_seconds() const {
  return waited_before_ + (loader_ ? seconds(loader_->waited()) : 0);
}

void StepRunner::open_loader(const StepStart& start) {
  // A loader whose last batch was not used is ahead of the run and has to be replaced.
  if (loader_ && batch_ == start.batch && loader_->cursor() == start.state.position) return;
  if (loader_) waited_before_ += seconds(loader_->waited());
  // Graphs of one model may place the batch differently; this rank reads the rows that any of them
  // needs.
  Range rows{};
  for (const zoo::NamedGraph& graph : setting_.models.at(start.batch).graphs)
    rows = hull(rows, sample_rows(setting_.live.session(), graph.name, start.batch));
  loader_ = std::make_unique<data::Loader>(
      setting_.samples, data::LoaderOptions{.batch = start.batch,
                                            .floating = setting_.dtype,
                                            .seed = start.state.seed,
                                            .position = start.state.position,
                                            .threads = setting_.live.setup().threads(),
                                            .rows = rows});
  batch_ = start.batch;
}

void StepRunner::write_scalars(const StepStart& start) {
  Session& session = setting_.live.session();
  session.write_scalar(Scalar::learning_rate, start.learning_rate);
  // Counted from 1, as bias correction needs (Adam divides by 1 - beta^step).
  session.write_scalar(Scalar::update_step, static_cast<double>(start.state.step + 1));
  // In two halves, because a double holds only 53 bits exactly.
  session.write_scalar(Scalar::key_low, static_cast<double>(start.state.seed & 0xffffffffu));
  session.write_scalar(Scalar::key_high, static_cast<double>(start.state.seed >> 32));
  // Ranks learn of requests from outside through the step itself, so that all act after the same
  // step and none waits for a peer that has stopped.
  if (has_peers()) session.write_requests(to_number(start.requests));
}

void StepRunner::write_inputs(const zoo::NamedGraph& graph, const data::Batch& batch,
                              const RunState& state) {
  auto is_fed = [&](const std::string& name) {
    return std::ranges::count(graph.feeds, name, &zoo::Feed::input) > 0;
  };
  Session& session = setting_.live.session();
  for (const data::HostField& field : batch.fields)
    if (!is_fed(field.name()))
      session.write_input(graph.name, field.name(), field.bytes(), batch.first_row);
  for (const zoo::Feed& feed : graph.feeds) {
    const TensorSpec& spec = graph.graph[find_tensor(graph.graph, feed.input)].spec;
    feed_.resize(static_cast<std::size_t>(spec.bytes().count));
    // A function of (seed, step), so every rank fills the same values without exchanging them.
    fill_feed(feed, spec, {state.seed, static_cast<std::uint32_t>(state.step)}, feed_);
    session.write_input(graph.name, feed.input, feed_);
  }
}

void StepRunner::run_graphs(const StepStart& start, const data::Batch& batch, StepResult& result) {
  Session& session = setting_.live.session();
  const std::vector<zoo::NamedGraph>& graphs = setting_.models.at(start.batch).graphs;
  for (const zoo::NamedGraph& graph : graphs) {
    write_inputs(graph, batch, start.state);
    setting_.live.run(graph.name);
    // Control values are the same on all ranks, so all ranks or none take part in the replay.
    if (session.read_control(Control::ok) == 0) explain_non_finite(graph, batch, start);
    add_ledgers(session.ledgers(graph.name), result);
    double loss =
        session.read_control(Control::loss) * loss_unit(graph.graph, setting_.samples.encoding());
    (&graph == &graphs.front() ? result.loss : result.more[graph.name]) = loss;
  }
}

void StepRunner::explain_non_finite(const zoo::NamedGraph& graph, const data::Batch& batch,
                                    const StepStart& start) {
  // Updates are skipped from the first value that is not finite on, so the weights are unchanged
  // and the same inputs give the same values again.
  write_inputs(graph, batch, start.state);
  Session& session = setting_.live.session();
  // A rank sees only the values of its own devices.
  std::optional<Culprit> found =
      first_of_all(ranks(), session.program(graph.name), session.run_checked(graph.name));
  std::string where =
      found ? fmt::format("the first value that is not finite is '{}', written by '{}'",
                          found->buffer, found->task)
            : "the replay of the step was finite";
  const char* what = std::isfinite(session.read_control(Control::loss)) ? "gradient" : "loss";
  throw SharedError(
      ErrorKind::numeric,
      fmt::format("the {} of step {} is not finite: {}; try a learning rate below {:g}, a longer "
                  "warm-up or train.clip_norm",
                  what, start.state.step + 1, where, start.learning_rate));
}

}  // namespace troika
