#include "train/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "data/loader.h"
#include "ops/mean_error.h"
#include "train/feeds.h"

namespace troika {
namespace {

using Measure = Metric::Measure;

/// A graph output that holds the weighted sum of a measure over the samples of a batch.
struct SummedMeasure {
  const char* output;
  Measure measure;
};
constexpr std::array kSummed{SummedMeasure{"loss_sum", Measure::loss},
                             SummedMeasure{"correct", Measure::accuracy},
                             SummedMeasure{"correct_top5", Measure::top5},
                             SummedMeasure{"absolute_error", Measure::absolute_error}};

double read_sum(Session& session, const std::string& name) {
  double sum = 0;
  session.read_output(kEvaluateProgram, name, std::as_writable_bytes(std::span(&sum, 1)));
  return sum;
}

/// Such a loss is the mean negative log-likelihood of a token, whose exponential is the perplexity.
bool predicts_tokens(const data::Encoding& encoding) {
  return encoding.kind() == data::SampleKind::sequence ||
         encoding.kind() == data::SampleKind::pairs;
}

std::vector<Measure> measures_of(const Graph& graph, const data::Encoding& encoding) {
  std::vector<Measure> measures{Measure::loss};
  for (const SummedMeasure& summed : kSummed)
    if (std::ranges::count(graph.outputs, summed.output, &NamedTensor::name) > 0)
      measures.push_back(summed.measure);
  if (predicts_tokens(encoding)) measures.push_back(Measure::perplexity);
  return measures;
}

/// Returns the error that an operator computes if it compares with the targets of the samples, else
/// null. An autoencoder compares with its input.
const MeanError* error_of_targets(const Graph& graph, TensorId sum) {
  const Operator& op = graph[graph[sum].producer];
  const auto* error = std::get_if<MeanError>(&op.op);
  if (error == nullptr) return nullptr;
  TensorId compared = op.inputs[1];
  // A network of the API may bring targets into the shape of its output first.
  if (OperatorId made_by = graph[compared].producer; made_by.valid())
    compared = graph[made_by].inputs.front();
  return graph[compared].name == "target" ? error : nullptr;
}

double unit_of(Measure measure, const EvaluationRequest& request) {
  const data::Encoding& samples = request.samples.encoding();
  if (measure == Measure::loss) return loss_unit(request.graph, samples);
  if (measure != Measure::absolute_error || !samples.target_normalization) return 1;
  TensorId sum =
      std::ranges::find(request.graph.outputs, "absolute_error", &NamedTensor::name)->tensor;
  return error_of_targets(request.graph, sum) ? samples.target_normalization->deviation.front() : 1;
}

void require_measure(const char* key, const Metric& metric, const std::vector<Measure>& measures) {
  if (metric.set == Metric::Set::train || std::ranges::count(measures, metric.measure) > 0) return;
  std::vector<std::string_view> known;
  known.reserve(measures.size());
  for (Measure measure : measures) known.push_back(to_word(Metric{metric.set, measure}));
  throw Error(ErrorKind::usage, fmt::format("{}: this model on these samples has no {}; it has {}",
                                            key, to_word(metric), fmt::join(known, ", ")));
}

}  // namespace

void require_evaluable(const RunConfig& config, const TrainingSets& sets, const zoo::Model& model) {
  if ((sets.test || sets.validation) && !model.graphs.front().feeds.empty())
    throw Error(ErrorKind::usage,
                fmt::format("model '{}' cannot be evaluated on samples alone; leave 'test' and "
                            "'validation' out of [data]",
                            model.name));
  std::vector<Measure> measures = measures_of(model.train(), sets.train->encoding());
  if (config.train.until) require_measure("train.until", config.train.until->metric, measures);
  if (std::optional<Metric> best = config.best_metric())
    require_measure("checkpoint.best", *best, measures);
}

ForwardProgram evaluation_program(const Graph& graph) {
  ForwardProgram program{kEvaluateProgram, &graph, {"weight_sum"}};
  // Lowering ignores outputs that the graph does not have, so all can be listed.
  for (const SummedMeasure& summed : kSummed) program.outputs.emplace_back(summed.output);
  return program;
}

bool compares_targets(const Graph& graph) {
  return graph.loss && error_of_targets(graph, graph.loss->loss_sum) != nullptr;
}

double loss_unit(const Graph& graph, const data::Encoding& samples) {
  if (!samples.target_normalization || !graph.loss) return 1;
  const MeanError* error = error_of_targets(graph, graph.loss->loss_sum);
  if (error == nullptr) return 1;
  double deviation = samples.target_normalization->deviation.front();
  // The mean cancels in the difference, so only the deviation remains.
  return error->penalty == Penalty::squared ? deviation * deviation : deviation;
}

Evaluation evaluate(LiveModel& live, const EvaluationRequest& request) {
  Session& session = live.session();
  Evaluation result;
  for (const SummedMeasure& summed : kSummed)
    if (session.has_output(kEvaluateProgram, summed.output))
      result.figures.push_back({summed.measure, 0});
  data::Loader loader(request.samples,
                      {.batch = request.batch,
                       .purpose = data::Purpose::evaluate,
                       .floating = request.dtype,
                       .threads = live.setup().threads(),
                       .rows = sample_rows(session, kEvaluateProgram, request.batch)});
  // Sums are divided by the total weight at the end, so that a padded last batch counts only its
  // real samples.
  double weight = 0;
  while (const data::Batch* next = loader.next()) {
    for (const data::HostField& field : next->fields)
      session.write_input(kEvaluateProgram, field.name(), field.bytes(), next->first_row);
    live.run(kEvaluateProgram);
    for (Figure& figure : result.figures)
      figure.value += read_sum(
          session, std::ranges::find(kSummed, figure.measure, &SummedMeasure::measure)->output);
    weight += read_sum(session, "weight_sum");
    result.samples += next->samples;
  }
  // The lower bound avoids 0 / 0 for samples that all have weight 0.
  for (Figure& figure : result.figures)
    figure.value *= unit_of(figure.measure, request) / std::max(weight, 1e-300);
  if (predicts_tokens(request.samples.encoding()))
    // The loss is the first entry of kSummed, and every model has it.
    result.figures.push_back({Measure::perplexity, std::exp(result.figures.front().value)});
  return result;
}

}  // namespace troika
