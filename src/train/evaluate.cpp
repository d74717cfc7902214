#include "train/evaluate.h"

#include <algorithm>

#include "data/loader.h"
#include "train/hosts.h"
#include "train/sample_rows.h"

namespace troika {
namespace {

double read_sum(Session& session, const std::string& name) {
  double sum = 0;
  session.read_output(kEvaluateProgram, name, std::as_writable_bytes(std::span(&sum, 1)));
  return sum;
}

}  // namespace

ForwardProgram evaluation_program(const Graph& graph) {
  return {kEvaluateProgram, &graph, {"loss_sum", "weight_sum", "correct"}};
}

Evaluation evaluate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                    DType dtype) {
  Session& session = live.session();
  bool classifies = session.has_output(kEvaluateProgram, "correct");
  data::Loader loader(dataset, {.batch = batch,
                                .purpose = data::Purpose::evaluate,
                                .floating = dtype,
                                .threads = usable_threads(),
                                .rows = sample_rows(session, kEvaluateProgram, batch)});
  double loss = 0, weight = 0, correct = 0;
  std::int64_t samples = 0;
  while (const data::Batch* next = loader.next()) {
    for (const data::HostField& field : next->fields)
      session.write_input(kEvaluateProgram, field.name(), field.bytes(), next->first_row);
    live.run(kEvaluateProgram);
    loss += read_sum(session, "loss_sum");
    weight += read_sum(session, "weight_sum");
    if (classifies) correct += read_sum(session, "correct");
    samples += next->samples;
  }
  Evaluation result{.loss = loss / std::max(weight, 1e-300), .samples = samples};
  if (classifies) result.accuracy = correct / std::max(weight, 1e-300);
  return result;
}

}  // namespace troika
