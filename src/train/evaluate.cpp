#include "train/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/loader.h"
#include "train/hosts.h"
#include "train/sample_rows.h"

namespace troika {
namespace {

using Measure = Metric::Measure;

/// Outputs that a model may have: sums over samples, each weighed, of a measure.
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

/// Whether the loss is the mean negative logarithm of the probability of a token.
bool predicts_tokens(const data::Encoding& encoding) {
  return encoding.kind() == data::SampleKind::sequence ||
         encoding.kind() == data::SampleKind::pairs;
}

}  // namespace

ForwardProgram evaluation_program(const Graph& graph) {
  ForwardProgram program{kEvaluateProgram, &graph, {"weight_sum"}};
  for (const SummedMeasure& summed : kSummed) program.outputs.emplace_back(summed.output);
  return program;
}

Evaluation evaluate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                    DType dtype) {
  Session& session = live.session();
  Evaluation result;
  for (const SummedMeasure& summed : kSummed)
    if (session.has_output(kEvaluateProgram, summed.output))
      result.figures.push_back({summed.measure, 0});
  data::Loader loader(dataset, {.batch = batch,
                                .purpose = data::Purpose::evaluate,
                                .floating = dtype,
                                .threads = usable_threads(),
                                .rows = sample_rows(session, kEvaluateProgram, batch)});
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
  for (Figure& figure : result.figures) figure.value /= std::max(weight, 1e-300);
  if (predicts_tokens(dataset.encoding()))
    result.figures.push_back({Measure::perplexity, std::exp(result.figures.front().value)});
  return result;
}

}  // namespace troika
