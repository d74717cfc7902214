#include "setup/known_links.h"

#include <fmt/format.h>

#include <thread>

#include "config/cache_folder.h"
#include "device/cpu/processor_name.h"

namespace troika {

std::filesystem::path default_links_file(const std::string& cache) {
  std::filesystem::path folder = cache_folder(cache);
  return folder.empty() ? folder : folder / "links.json";
}

std::string machine_of_links() {
  return fmt::format("{}, {} cores", processor_name(), std::thread::hardware_concurrency());
}

LinkCosts known_link_costs(const std::filesystem::path& file) {
  if (file.empty() || !std::filesystem::exists(file)) return assumed_link_costs();
  // The cache folder may be on a network disk that different machines share.
  LinkCosts costs = read_link_costs(file);
  return costs.provenance.machine == machine_of_links() ? costs : assumed_link_costs();
}

}  // namespace troika
