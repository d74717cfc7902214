#include "train/slow_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "machine/limits.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using Nanoseconds = std::chrono::nanoseconds;

/// A cause is named if it took more than this share of the time. The share is small because all
/// threads of a kernel wait for the slowest one, so a little lost time on one core delays all.
constexpr double kTellingShare = 0.1;
/// Cores below this share of their top frequency count as slow. Checked last: it alone rarely makes
/// steps three times as long.
constexpr double kLowFrequency = 0.6;
/// At a few ms each, so many reads from disk take a good part of kShortestStretch.
constexpr std::int64_t kManyPages = 100;
/// Waiting for samples or messages during 2/3 of a step makes it three times as long (kSlowStep).
constexpr double kMostWait = 0.66;
/// Shorter intervals are not judged: writing one checkpoint may take as long, and
/// /proc/stat counts in ticks of 10 ms.
constexpr Nanoseconds kShortestStretch = std::chrono::seconds(1);

/// Sums the scheduler statistics of all threads. Columns: time run, time waiting for a core (both
/// in ns), number of slices.
void add_threads(const fs::path& root, SystemLoad& load) {
  // A thread may end while the folder is read; its times are then missing from the sum.
  std::error_code gone;
  for (fs::directory_iterator thread(root / "proc/self/task", gone), end; !gone && thread != end;
       thread.increment(gone)) {
    std::ifstream file(thread->path() / "schedstat");
    std::int64_t ran = 0, queued = 0;
    if (!(file >> ran >> queued)) continue;
    load.ran += Nanoseconds(ran);
    load.queued += Nanoseconds(queued);
  }
}

Nanoseconds ticks_to_time(std::int64_t ticks) {
  return Nanoseconds(ticks * (std::nano::den / std::max<long>(1, sysconf(_SC_CLK_TCK))));
}

/// Reads lines "cpu… user nice system idle iowait irq softirq steal …" in ticks. "cpu" is the sum
/// of all cores, "cpu3" one core.
void read_core_times(const fs::path& root, SystemLoad& load) {
  std::set<std::string> names;
  for (int core : usable_cores()) names.insert(fmt::format("cpu{}", core));
  std::ifstream file(root / "proc/stat");
  for (std::string line, name; std::getline(file, line);) {
    std::istringstream words(line);
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, disk = 0, irq = 0, soft = 0, stolen = 0;
    if (!(words >> name >> user >> nice >> system >> idle >> disk >> irq >> soft >> stolen)) return;
    if (name == "cpu") load.stolen = ticks_to_time(stolen);
    if (names.contains(name)) load.used += ticks_to_time(user + nice + system + irq + soft);
  }
}

/// Reads column 12 (majflt) of stat. Columns are counted after the name in brackets, which may
/// contain spaces.
std::int64_t pages_read_from_disk(const fs::path& root) {
  std::ostringstream text;
  text << std::ifstream(root / "proc/self/stat").rdbuf();
  std::string line = text.str();
  std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string word;
  for (int column = 3; column <= 12; ++column) words >> word;
  return words ? std::atoll(word.c_str()) : 0;
}

double number_of(const fs::path& file) {
  double number = 0;
  std::ifstream(file) >> number;
  return number;
}

void read_frequency(const fs::path& root, SystemLoad& load) {
  for (int core : usable_cores()) {
    fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq", core);
    double now = number_of(folder / "scaling_cur_freq"),
           top = number_of(folder / "cpuinfo_max_freq");
    if (now <= 0 || top <= 0) continue;
    // The slowest core in proportion to its own top, since a processor may have cores of two kinds.
    if (load.frequency == 0 || now / top < load.frequency / load.top_frequency) {
      load.frequency = now;
      load.top_frequency = top;
    }
  }
}

double seconds_of(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

double share_of(Nanoseconds part, Nanoseconds whole) {
  return whole.count() > 0 ? seconds_of(part) / seconds_of(whole) : 0;
}

/// Tells whether threads waited for a core because of other processes or because of each other.
std::string explain_wait(const SystemLoad& before, const SystemLoad& after) {
  Nanoseconds queued = after.queued - before.queued, ran = after.ran - before.ran;
  // Only time when a thread was ready counts: idle threads neither run nor queue.
  double waited = share_of(queued, queued + ran);
  if (waited <= kTellingShare) return {};
  // Without /proc/stat it is unknown who had the cores.
  if (after.used <= before.used)
    return fmt::format("its threads waited for a core {:.0f} % of the time", waited * 100);
  auto cores = std::max<std::int64_t>(1, std::ssize(usable_cores()));
  // The cores' time that this process did not use itself.
  double others =
      std::min(1.0, share_of(after.used - before.used - ran, (after.at - before.at) * cores));
  if (others > kTellingShare)
    return fmt::format(
        "other processes took {:.0f} % of the time of its {} cores, and its threads waited for a "
        "core "
        "{:.0f} % of the time (load average {:.1f})",
        others * 100, cores, waited * 100, after.runnable);
  return fmt::format(
      "its own threads compete for {} cores: they waited for a core {:.0f} % of the time; fewer "
      "parallel.threads may be faster",
      cores, waited * 100);
}

}  // namespace

SystemLoad read_system_load(const fs::path& root) {
  SystemLoad load{.at = std::chrono::steady_clock::now().time_since_epoch()};
  add_threads(root, load);
  load.throttled = throttled_time(root);
  read_core_times(root, load);
  load.pages_read = pages_read_from_disk(root);
  read_frequency(root, load);
  load.runnable = number_of(root / "proc/loadavg");
  return load;
}

std::string explain_slowness(const SystemLoad& before, const SystemLoad& after) {
  // The first cause found is the one reported, so the most certain and most useful ones come first.
  Nanoseconds passed = after.at - before.at;
  double throttled = share_of(after.throttled - before.throttled, passed);
  if (throttled > kTellingShare)
    return fmt::format(
        "the CPU quota of its control group (cpu.max) stopped this process for {:.0f} "
        "% of the time; fewer parallel.threads may be faster",
        std::min(1.0, throttled) * 100);
  if (std::string reason = explain_wait(before, after); !reason.empty()) return reason;
  // /proc/stat sums steal over all cores, hence their number in the denominator.
  double stolen = share_of(after.stolen - before.stolen, passed * std::max(1, cores_of_machine()));
  if (stolen > kTellingShare)
    return fmt::format("other virtual machines on this host took {:.0f} % of the cores' time",
                       stolen * 100);
  if (after.pages_read - before.pages_read > kManyPages)
    return fmt::format("{} pages had to be read from disk; the computer is short of memory",
                       after.pages_read - before.pages_read);
  if (after.frequency < kLowFrequency * after.top_frequency)
    return fmt::format(
        "the processor runs at {:.1f} of {:.1f} GHz; it may be too hot, or saving "
        "power",
        after.frequency / 1e6, after.top_frequency / 1e6);
  return {};
}

void SlowSteps::begin(Nanoseconds predicted, const SystemLoad& now) {
  predicted_ = predicted;
  before_ = now;
}

std::string SlowSteps::check(const ReportedSteps& more, const fs::path& root) {
  since_.steps += more.steps;
  since_.taken += more.taken;
  if (has_warned_ || predicted_ <= Nanoseconds{} || since_.taken < kShortestStretch) return {};
  SystemLoad after = read_system_load(root);
  // The interval ends here even if the steps are fast, so that a later warning describes only the
  // time since then.
  std::string reason = explain_slowness(std::exchange(before_, after), after);
  double step = seconds_of(since_.taken) / static_cast<double>(since_.steps);
  double times = step / seconds_of(predicted_);
  since_ = {};
  if (times <= kSlowStep) return {};
  // The system's counters come first: with too few cores, samples and messages are late as well.
  if (reason.empty() && more.data_wait > kMostWait)
    reason = fmt::format("it waits for samples {:.0f} % of the time", more.data_wait * 100);
  if (reason.empty() && more.communication_wait > kMostWait)
    reason = fmt::format("it waits for other devices {:.0f} % of the time",
                         more.communication_wait * 100);
  if (reason.empty()) return {};
  has_warned_ = true;
  return fmt::format("a step takes {:.1f} ms, {:.0f} times as long as predicted: {}", step * 1e3,
                     times, reason);
}

}  // namespace troika
