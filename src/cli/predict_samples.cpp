#include "cli/predict_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/prediction_file.h"
#include "cli/text_table.h"
#include "setup/hosts.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A class by its name, or by its number where it has none.
Json class_name(const SavedRun& run, std::int32_t number) {
  if (run.samples.labels.empty()) return number;
  return run.samples.labels.at(static_cast<std::size_t>(number));
}

std::string plain(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json.dump();
}

/// The columns to predict, by name where the training data had names.
std::vector<std::string> number_names(const data::Encoding& encoding) {
  if (!encoding.targets.empty()) return encoding.targets;
  std::int64_t count = encoding.find("target")->spec.shape.elements();
  if (count == 1) return {"prediction"};
  std::vector<std::string> names;
  for (std::int64_t at = 0; at < count; ++at) names.push_back(fmt::format("prediction{}", at));
  return names;
}

std::size_t width_of(const std::string& title) { return std::max<std::size_t>(12, title.size()); }

class NumberTable {
 public:
  NumberTable(const std::vector<std::string>& names, bool has_target) : titles_(names) {
    for (const std::string& name : names)
      if (has_target) titles_.push_back(names.size() == 1 ? "target" : "target " + name);
  }

  std::string header() const {
    std::string line = "   index";
    for (const std::string& title : titles_)
      line += fmt::format("  {:>{}}", title, width_of(title));
    return line;
  }

  std::string line(const NumberPrediction& found) const {
    std::string line = fmt::format("{:>8}", found.index);
    for (std::size_t at = 0; at < titles_.size(); ++at) {
      std::size_t count = found.predicted.size();
      double number = at < count ? found.predicted[at] : found.target[at - count];
      line += fmt::format("  {:>{}.6g}", number, width_of(titles_[at]));
    }
    return line;
  }

 private:
  std::vector<std::string> titles_;
};

std::string json_line(const NumberPrediction& found, bool has_target) {
  auto numbers = [](std::span<const double> values) {
    return Json(std::vector<double>(values.begin(), values.end()));
  };
  Json json{{"index", found.index}, {"prediction", numbers(found.predicted)}};
  if (has_target) json["target"] = numbers(found.target);
  return json.dump();
}

void say_written(const PredictRequest& request, std::int64_t samples, Console& console) {
  console.print(request.json
                    ? Json{{"out", request.out}, {"samples", samples}}.dump()
                    : fmt::format("wrote {} predictions to {}", with_commas(samples), request.out));
}

/// The samples of a request, and the model made ready for them.
struct AskedSamples {
  AskedSamples(SavedRun& run, const PredictRequest& request)
      : samples(requested_samples(run, request)),
        batch(batch_for(run, *samples)),
        predictor(run, batch) {}

  std::unique_ptr<data::Dataset> samples;
  std::int64_t batch;
  Predictor predictor;
};

void write_classes(AskedSamples& asked, const SavedRun& run, const PredictRequest& request) {
  PredictionFile file(request.out, {.is_class = true, .samples = asked.samples->size()});
  predict_classes(asked.predictor.live(), *asked.samples, asked.batch,
                  [&](const Prediction& found) {
                    std::string name = plain(class_name(run, found.predicted));
                    file.add({found.index, found.predicted, name, found.probability});
                  });
  file.publish();
}

void write_numbers(AskedSamples& asked, const SavedRun& run, const PredictRequest& request) {
  PredictionFile file(request.out,
                      {.names = number_names(run.samples), .samples = asked.samples->size()});
  predict_numbers(asked.predictor.live(), *asked.samples, asked.batch,
                  [&](const NumberPrediction& found) { file.add(found.index, found.predicted); });
  file.publish();
}

}  // namespace

Predictor::Predictor(const SavedRun& run, std::int64_t batch)
    : live_(set_up_runtime(run.config.kernels, run.config.parallel)) {
  add_prediction(live_, build_saved(run, batch).train());
  live_.start();
  load_saved(run, live_);
}

std::unique_ptr<data::Dataset> requested_samples(SavedRun& run, const PredictRequest& request) {
  if (!request.prompt.empty()) return data::open_prompt(request.prompt, run.samples);
  if (request.uri.empty()) return open_samples(run, request.uri);
  return data::open(request.uri, {.seed = static_cast<std::uint64_t>(run.config.train.seed),
                                  .threads = usable_threads(),
                                  .like = run.samples,
                                  .unlabelled = true});
}

std::int64_t batch_for(const SavedRun& run, const data::Dataset& samples) {
  return std::min(run.config.train.global_batch, samples.size());
}

void print_classes(SavedRun& run, const PredictRequest& request, Console& console) {
  AskedSamples asked(run, request);
  if (!request.out.empty()) {
    write_classes(asked, run, request);
    return say_written(request, asked.samples->size(), console);
  }
  bool has_target = request.prompt.empty() && asked.samples->has_targets();
  if (!request.json)
    console.print(fmt::format("   index  predicted  probability{}", has_target ? "  target" : ""));
  predict_classes(
      asked.predictor.live(), *asked.samples, asked.batch, [&](const Prediction& found) {
        Json predicted = class_name(run, found.predicted), target = class_name(run, found.target);
        if (request.json) {
          Json json{
              {"index", found.index}, {"predicted", predicted}, {"probability", found.probability}};
          if (has_target) json["target"] = target;
          return console.print(json.dump());
        }
        std::string line =
            fmt::format("{:>8} {:>10} {:>12.4f}", found.index, plain(predicted), found.probability);
        if (has_target)
          line += fmt::format(" {:>7}{}", plain(target), predicted == target ? "" : "  wrong");
        console.print(line);
      });
}

void print_numbers(SavedRun& run, const PredictRequest& request, Console& console) {
  AskedSamples asked(run, request);
  if (!request.out.empty()) {
    write_numbers(asked, run, request);
    return say_written(request, asked.samples->size(), console);
  }
  const bool has_target = asked.samples->has_targets();
  NumberTable table(number_names(run.samples), has_target);
  if (!request.json) console.print(table.header());
  predict_numbers(asked.predictor.live(), *asked.samples, asked.batch,
                  [&](const NumberPrediction& found) {
                    console.print(request.json ? json_line(found, has_target) : table.line(found));
                  });
}

}  // namespace troika::cli
