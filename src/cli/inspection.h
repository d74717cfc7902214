// Descriptions of files and folders for `inspect`, one function per kind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/encoding.h"
#include "strategy/strategy.h"
#include "train/progress.h"

namespace troika::cli {

struct Inspection {
  std::string kind;  ///< "run folder", "checkpoint", …
  std::vector<Fact> facts;
  std::vector<std::vector<std::string>>
      rows{};  ///< A list of what is inside, header first; may be empty.
};

/// `target` is a data set by URI, a folder, or a file, recognised by its first bytes. Throws
/// Error(file) if it is damaged or of an unknown kind.
Inspection inspect(const std::string& target);

/// The tasks of a training step as Graphviz text, for a run folder, a run file, or the plan.json
/// next to one. Throws Error(usage) for anything else: a plan alone does not know its model.
std::string draw_tasks(const std::filesystem::path& target);

Inspection inspect_run_folder(const std::filesystem::path& folder);
Inspection inspect_checkpoint(const std::filesystem::path& folder);
Inspection inspect_safetensors(const std::filesystem::path& file);
Inspection inspect_run_file(const std::filesystem::path& file);
Inspection inspect_cluster_file(const std::filesystem::path& file);
Inspection inspect_metrics(const std::filesystem::path& file);
/// A whole JSON document: a plan, a cost file, a checkpoint's index, a trace, or just JSON.
Inspection inspect_json(const std::filesystem::path& file);
/// The text of a plan file: the split and the devices of each operator. `folder` is where the file
/// lies, which may be a run folder.
Inspection inspect_plan(const std::string& text, const std::filesystem::path& folder);
/// How many updates of a plan run beside the next step, and why the others do not; why that is not
/// known if the model cannot be built. Nothing for a plan for any model.
std::vector<Fact> facts_of_updates(const Strategy& strategy, const std::filesystem::path& folder);
/// The work and the depth of a step under a plan, by the kernel times in `folder`; why they are not
/// known if the model cannot be built. Nothing if there are no kernel times.
std::vector<Fact> facts_of_bounds(const Strategy& strategy, const std::filesystem::path& folder);
Inspection inspect_dataset(const std::string& uri);
/// Fields, classes, vocabularies, normalisation.
std::vector<Fact> facts_of(const data::Encoding& encoding);
/// One array file of a data set: IDX or npy.
Inspection inspect_array(const std::filesystem::path& file, const std::string& kind);

}  // namespace troika::cli
