#include "setup/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/heartbeat/start_heartbeat.h"

namespace troika {
namespace {

constexpr const char* kWell = "0";

}  // namespace

/// A text is the exit code of the error that its rank has met, or 0; a line break; and the rest.
std::vector<std::string> Ranks::meet(const std::string& status, const std::string& text) {
  std::vector<std::string> texts = pass_round(status + "\n" + text);
  for (int at = 0; at < count(); ++at) {
    std::string& one = texts[static_cast<std::size_t>(at)];
    std::size_t end = one.find('\n');
    std::string code = one.substr(0, end);
    one.erase(0, end + 1);
    if (code == kWell) continue;
    bool is_own = one == text && status == code;
    throw SharedError(static_cast<ErrorKind>(std::stoi(code)),
                      is_own ? one : fmt::format("rank {}: {}", at, one));
  }
  return texts;
}

std::vector<std::string> Ranks::exchange(const std::string& text) { return meet(kWell, text); }

void Ranks::give_up(const Error& error) {
  meet(std::to_string(error.exit_code()), error.what());
  throw Bug("a rank gave up and went on");
}

void Ranks::require_agreement(const std::string& subject, const std::string& text) {
  try {
    troika::require_agreement({rank(), [this](const std::string& own) { return exchange(own); }},
                              subject, text);
  } catch (const SharedError&) {
    throw;
  } catch (const Error& difference) {
    throw SharedError(difference.kind(), difference.what());
  }
}

}  // namespace troika
