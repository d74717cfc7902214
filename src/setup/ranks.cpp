#include "setup/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/heartbeat/start_heartbeat.h"
#include "comm/threads/thread_transport.h"
#include "setup/hosts.h"

namespace troika {
namespace {

constexpr const char* kNoError = "0";

/// A group of one.
class SoleRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  std::string host() const override { return host_name(); }
  std::unique_ptr<Transport> join(const std::vector<int>&) override {
    return std::make_unique<ThreadTransport>();
  }
  void watched(const std::string&, const std::function<void()>& body) override { body(); }

 private:
  std::vector<std::string> pass_round(const std::string& text) override { return {text}; }
};

}  // namespace

/// Each message is the exit code of the rank's error, or 0, a line break, and the text. So a rank
/// that fails can join whatever exchange its peers wait in, and none of them waits forever.
std::vector<std::string> Ranks::meet(const std::string& status, const std::string& text) {
  std::vector<std::string> texts = pass_round(status + "\n" + text);
  for (int at = 0; at < count(); ++at) {
    std::string& one = texts[static_cast<std::size_t>(at)];
    std::size_t end = one.find('\n');
    std::string code = one.substr(0, end);
    one.erase(0, end + 1);
    if (code == kNoError) continue;
    // The rank that failed gets its own error back without its number in front.
    bool is_own = one == text && status == code;
    throw SharedError(static_cast<ErrorKind>(std::stoi(code)),
                      is_own ? one : fmt::format("rank {}: {}", at, one));
  }
  return texts;
}

std::vector<std::string> Ranks::exchange(const std::string& text) { return meet(kNoError, text); }

void Ranks::give_up(const Error& error) {
  meet(std::to_string(error.exit_code()), error.what());
  throw Bug("a rank gave up and continued");
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

Ranks& sole_rank() {
  // It has no state, so all callers can share it.
  static SoleRank alone;
  return alone;
}

}  // namespace troika
