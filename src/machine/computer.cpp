#include "machine/computer.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace troika {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::int64_t whole_cores(const CoreLimit& limit) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.cores));
}

Bytes computer_memory() {
  std::ostringstream text;
  text << std::ifstream("/proc/meminfo").rdbuf();
  Bytes memory = total_memory(text.str());
  return std::min(memory, address_space_limit().value_or(memory));
}

Bytes total_memory(const std::string& meminfo) {
  // "MemTotal:       32768000 kB", where kB means 1024 bytes.
  constexpr std::string_view kLine = "MemTotal:";
  std::size_t at = meminfo.find(kLine);
  if (at == std::string::npos) return {};
  at = meminfo.find_first_not_of(' ', at + kLine.size());
  std::int64_t kibibytes = 0;
  if (at != std::string::npos)
    std::from_chars(meminfo.data() + at, meminfo.data() + meminfo.size(), kibibytes);
  return {kibibytes * 1024};
}

}  // namespace troika
