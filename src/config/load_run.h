// run.toml and the command line → RunConfig, or every error of both at once.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/reader.h"
#include "config/run_config.h"

namespace troika {

/// A run and where each of its values was stated.
struct RunFile {
  RunConfig config;
  config::Origins origins;
};

/// Reads the file and applies `overrides` ("optimizer.learning_rate=0.1") to it. Throws one
/// Error(usage) whose message has a line for every error: "run.toml:7:1: error: …" or "command
/// line: error: …". An override also removes keys of the file that contradict it: `train.steps`
/// removes `epochs`, and another `optimizer.name` removes the keys of the old one. Paths in the
/// file are relative to it, those of overrides to the working directory.
RunFile read_run(const std::string& path, std::span<const std::string> overrides = {});

/// The same for a text; `path` is its name in messages.
RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides = {});

/// Only the values of read_run.
RunConfig load_run(const std::string& path, std::span<const std::string> overrides = {});

// The two steps of read_run, for a caller that needs settings before it knows the number of ranks,
// or that has more errors to report.

/// The keys of a run, not yet checked against each other. Values that were refused are defaults.
struct RunDraft {
  std::string path;
  RunConfig config;
  config::Reader reader;
  bool is_toml = true;  ///< False: the text has a syntax error and no key was read.
};

/// Throws Error only if the file cannot be read at all.
RunDraft read_draft(const std::string& path, std::span<const std::string> overrides = {});

/// A run with everything that is wrong with it.
struct RunReading {
  std::string path;
  RunFile run;
  std::vector<config::Complaint> complaints;
};

/// Resolves the plan (config/resolve_plan.h) and checks the keys against each other.
RunReading settle(RunDraft draft, int ranks = 1);

/// Throws Error(usage) with all complaints, if there are any.
RunFile require_flawless(RunReading reading);

}  // namespace troika
