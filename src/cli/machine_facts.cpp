#include "cli/machine_facts.h"

#include <fmt/format.h>
#include <link.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/units.h"
#include "cli/version.h"
#include "comm/mpi/mpi_world.h"
#include "data/jpeg/jpeg.h"
#include "data/png/png.h"
#include "device/cpu/instruction_set.h"
#include "kernels/cpu/cpu.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

std::string read_text(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

std::string operating_system() {
  utsname system{};
  uname(&system);
  std::string release = read_text("/etc/os-release");
  auto at = release.find("PRETTY_NAME=");
  std::string name = at == std::string::npos
                         ? system.sysname
                         : unquoted(release.substr(at + 12, release.find('\n', at) - at - 12));
  return fmt::format("{}, {} {}, {}", name, system.sysname, system.release, system.machine);
}

std::string memory() {
  std::string text = read_text("/proc/meminfo");
  auto bytes = [&](const char* key) {
    return to_string(Bytes{std::atoll(value_of(text, key).c_str()) * 1024});
  };
  return fmt::format("{}, {} available", bytes("MemTotal"), bytes("MemAvailable"));
}

/// The first of the files that exists, or an empty text.
std::string find_file(const std::vector<fs::path>& folders, const std::vector<std::string>& names) {
  for (const fs::path& folder : folders) {
    for (const std::string& name : names) {
      std::error_code ignored;
      if (fs::exists(folder / name, ignored)) return (folder / name).string();
    }
  }
  return {};
}

std::vector<fs::path> program_folders() {
  const char* path = std::getenv("PATH");
  std::istringstream list(path == nullptr ? "/usr/bin" : path);
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  return folders;
}

std::vector<fs::path> library_folders() {
  return {"/usr/lib/x86_64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu",
          "/usr/lib64",
          "/usr/lib",
          "/usr/local/lib",
          "/usr/local/cuda/lib64"};
}

/// The path of the shared library of that name that this process has loaded; empty if there is
/// none.
std::string loaded_library(const std::string& name) {
  struct Wanted {
    std::string name, path;
  } wanted{"/" + name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* loaded, std::size_t, void* given) {
        auto& target = *static_cast<Wanted*>(given);
        std::string path = loaded->dlpi_name;
        if (path.find(target.name) != std::string::npos) target.path = path;
        return target.path.empty() ? 0 : 1;
      },
      &wanted);
  return wanted.path;
}

std::string linked_text(const std::string& path) {
  return path.empty() ? "linked in" : "linked with " + path;
}

}  // namespace

std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    auto colon = line.find(':');
    auto start = line.find_first_not_of(" \t", colon + 1);
    if (colon == std::string::npos || start == std::string::npos) continue;
    return line.substr(start);
  }
  return {};
}

std::vector<Fact> machine_facts() {
  std::string model = value_of(read_text("/proc/cpuinfo"), "model name");
  return {{"troika", fmt::format("{}, compiled by GCC {}", kVersion, __VERSION__)},
          {"system", operating_system()},
          {"processor", model.empty() ? "unknown" : model},
          {"cores", std::to_string(std::thread::hardware_concurrency())},
          {"instruction set", std::string(instruction_set())},
          {"memory", memory()}};
}

std::vector<Component> components() {
  constexpr const char* kUnused = "this build does not use it";
  std::vector<fs::path> programs = program_folders(), libraries = library_folders();
  std::string mpirun = find_file(programs, {"mpirun"});
  std::string launched = mpirun.empty() ? "no mpirun in PATH" : "launcher " + mpirun;
  std::string openmp = loaded_library("libgomp.so");
  return {{"oneDNN", cpu_library(), "libdnnl-dev", linked_text(loaded_library("libdnnl.so"))},
          {"OpenMP", openmp.empty() ? loaded_library("libomp.so") : openmp, "libgomp1",
           "threads of a CPU device"},
          {"MPI", mpi_library(), "openmpi-bin libopenmpi-dev",
           built_with_mpi() ? linked_text(loaded_library("libmpi")) + "; " + launched
                            : "built without MPI: one process only"},
          {"JPEG", data::built_with_jpeg() ? linked_text(loaded_library("libturbojpeg.so")) : "",
           "libturbojpeg0-dev", "files of images:DIR"},
          {"PNG", data::built_with_png() ? linked_text(loaded_library("libpng")) : "", "libpng-dev",
           "files of images:DIR"},
          {"CUDA compiler", find_file(programs, {"nvcc"}), "nvidia-cuda-toolkit", kUnused},
          {"CUDA driver", find_file(libraries, {"libcuda.so.1"}), "nvidia-driver", kUnused}};
}

}  // namespace troika::cli
