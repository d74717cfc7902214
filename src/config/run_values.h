// Keys of run.toml whose values have a special form: conditions, plans, normalisation, options.
#pragma once

#include "config/key.h"
#include "config/run_config.h"

namespace troika::config {

/// One folder name: no slash, not "." or "..".
Key<RunSection> name_of_run(std::string RunSection::*member, const Label& label);
/// "auto", "none" or [mean, deviation], each a number or an array with one number per channel.
Key<DataConfig> normalize(Normalize DataConfig::*member, const Label& label);
Key<TrainConfig> condition(std::optional<Condition> TrainConfig::*member, const Label& label);
/// "auto" or a size with its unit.
Key<ParallelConfig> memory(std::optional<Bytes> ParallelConfig::*member, const Label& label);
/// "auto" or a number.
Key<ParallelConfig> threads(std::optional<std::int64_t> ParallelConfig::*member,
                            const Label& label);
/// "auto" or FIRST-LAST.
Key<HeartbeatConfig> ports(PortRange HeartbeatConfig::*member, const Label& label);
/// A ready plan, a .json file, or { data = …, tensor = …, pipeline = … }.
Key<ParallelConfig> plan(PlanConfig ParallelConfig::*member, const Label& label);

/// Keys of [model] beyond its name: any scalar is kept as an option of the model.
bool read_option(const Field& field, ModelConfig& model);
void list_options(const ModelConfig& model, const std::string& path, std::vector<Entry>& entries);

}  // namespace troika::config
