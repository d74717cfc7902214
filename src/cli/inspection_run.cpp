// Run folders and what they hold: checkpoints, run files, metrics.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/marker.h"
#include "checkpoint/retention.h"
#include "checkpoint/safetensors.h"
#include "cli/inspection.h"
#include "cli/text_table.h"
#include "config/load_run.h"
#include "train/encoding_json.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// "1 epoch", "3 epochs"
std::string count(std::int64_t number, const char* unit) {
  return fmt::format("{} {}{}", number, unit, number == 1 ? "" : "s");
}

std::vector<Fact> facts_of_run(const RunConfig& config) {
  const TrainConfig& train = config.train;
  std::string length = train.epochs  ? count(*train.epochs, "epoch")
                       : train.steps ? count(*train.steps, "step")
                                     : std::string("no limit");
  if (train.until) length += ", until " + to_string(*train.until);
  return {{"model", config.model.name},
          {"data", config.data.test.empty() ? config.data.train
                                            : config.data.train + ", test " + config.data.test},
          {"global batch", std::to_string(train.global_batch)},
          {"length", length},
          {"optimizer", fmt::format("{}, learning rate {:g}", to_word(config.optimizer.kind),
                                    config.optimizer.learning_rate)}};
}

/// Whole lines that are JSON objects; anything else is an error that names the line.
std::vector<Json> read_lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object())
      throw Error(ErrorKind::file, fmt::format("{}:{}: error: the line is not a JSON object",
                                               path.string(), number));
    lines.push_back(std::move(json));
  }
  return lines;
}

/// The newest value of each metric.
std::vector<Fact> newest_values(const std::vector<Json>& lines) {
  std::vector<Fact> facts;
  std::vector<std::string> names{"step", "epoch"};
  for (const Choice<Metric>& metric : choices(Metric{})) names.emplace_back(metric.word);
  for (const std::string& name : names) {
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      if (!line->contains(name)) continue;
      facts.push_back({"last " + name, (*line)[name].dump()});
      break;
    }
  }
  return facts;
}

std::string joined_steps(const std::vector<std::int64_t>& steps) {
  std::string text;
  for (std::int64_t step : steps) text += fmt::format("{}step-{}", text.empty() ? "" : ", ", step);
  return text.empty() ? "none" : text;
}

void append(std::vector<Fact>& facts, const std::vector<Fact>& more) {
  facts.insert(facts.end(), more.begin(), more.end());
}

}  // namespace

Inspection inspect_run_folder(const fs::path& folder) {
  Inspection found{.kind = "run folder"};
  if (fs::exists(folder / "run.toml"))
    found.facts = facts_of_run(load_run((folder / "run.toml").string()));
  found.facts.push_back({"checkpoints", joined_steps(list_steps(folder / "checkpoints"))});
  if (auto best = find_best_checkpoint(folder / "checkpoints"))
    found.facts.push_back({"best", best->filename().string()});
  if (fs::exists(folder / "metrics.jsonl"))
    append(found.facts, newest_values(read_lines(folder / "metrics.jsonl")));
  return found;
}

Inspection inspect_checkpoint(const fs::path& folder) {
  Checkpoint checkpoint = Checkpoint::open(folder);
  checkpoint.verify_all();
  Inspection found{.kind = "checkpoint", .facts = {{"step", std::to_string(checkpoint.step())}}};
  Bytes bytes{};
  found.rows.push_back({"tensor", "type and shape", "file"});
  for (const IndexedTensor& tensor : checkpoint.tensors()) {
    bytes += tensor.spec.bytes();
    found.rows.push_back({tensor.name, to_string(tensor.spec), tensor.file});
  }
  found.facts.push_back({"tensors", fmt::format("{}, {}, all checksums correct",
                                                checkpoint.tensors().size(), to_string(bytes))});
  Json meta = Json::parse(checkpoint.meta_json());
  for (const auto& [name, value] : meta.items())
    if (name != "step" && name != "run" && name != "samples")
      found.facts.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  if (meta.contains("run"))
    append(found.facts, facts_of_run(parse_run(meta["run"].get<std::string>(), "run").config));
  if (meta.contains("samples"))
    append(found.facts, facts_of(parse_encoding(meta["samples"].dump())));
  return found;
}

Inspection inspect_safetensors(const fs::path& path) {
  SafetensorsFile file(path);
  Inspection found{.kind = "safetensors file"};
  std::int64_t elements = 0;
  found.rows.push_back({"tensor", "shape", "bytes"});
  for (const StoredTensor& tensor : file.tensors()) {
    elements += tensor.shape.elements();
    found.rows.push_back({tensor.name, to_string(tensor.shape),
                          with_commas(static_cast<std::int64_t>(tensor.end - tensor.begin))});
  }
  found.facts = {{"tensors", std::to_string(file.tensors().size())},
                 {"elements", with_commas(elements)}};
  for (const auto& [name, value] : file.metadata()) found.facts.push_back({name, value});
  return found;
}

Inspection inspect_run_file(const fs::path& file) {
  return {.kind = "run file", .facts = facts_of_run(load_run(file.string()))};
}

Inspection inspect_metrics(const fs::path& file) {
  std::vector<Json> lines = read_lines(file);
  Inspection found{.kind = "metrics", .facts = {{"lines", std::to_string(lines.size())}}};
  append(found.facts, newest_values(lines));
  return found;
}

}  // namespace troika::cli
