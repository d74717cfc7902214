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

/// Reads the file and lays `overrides` ("optimizer.learning_rate=0.1") over it. Throws one
/// Error(usage) whose message has a line for every error: "run.toml:7:1: error: …" or "command
/// line: error: …". An override also displaces what the file says and what cannot stand beside it:
/// `train.steps` displaces `epochs`, and another `optimizer.name` the keys that only the old one
/// used. Paths in the file are relative to it, those of overrides to the working directory.
RunFile read_run(const std::string& path, std::span<const std::string> overrides = {});

/// The same for a text; `path` is its name in messages.
RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides = {});

/// Only the values.
RunConfig load_run(const std::string& path, std::span<const std::string> overrides = {});

}  // namespace troika
