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
/// line: error: …". An override replaces the value of the file, and removes values that it
/// excludes: `train.steps` removes `epochs`, and another `optimizer.name` removes keys that only
/// the old one used. Paths in the file are relative to it, those of overrides to the working
/// directory.
RunFile read_run(const std::string& path, std::span<const std::string> overrides = {});

/// The same for a text; `path` is its name in messages.
RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides = {});

/// A run file with everything that is wrong with it. Values that were refused are defaults.
struct RunReading {
  RunFile run;
  std::vector<config::Complaint> complaints;
};

/// As read_run, but throws only if the file cannot be read at all: for a caller that adds
/// complaints of its own.
RunReading read_with_complaints(const std::string& path,
                                std::span<const std::string> overrides = {});

/// Sets parallel.devices to the number of devices in the plan file, if the run has one and either
/// does not state the devices, or states them in the file and the plan on the command line. Ignores
/// a plan that cannot be read; reading it for the run will report why.
void take_devices_from_plan(RunFile& run);

/// The values without their origins.
RunConfig load_run(const std::string& path, std::span<const std::string> overrides = {});

}  // namespace troika
