// Runs every file of a corpus folder through a fuzz target and prints how many there were. The name
// of the file precedes a finding, which ends the program; a missing or empty folder fails.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

void replay(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: %s CORPUS\n", arguments[0]), 2;
  std::string at = arguments[1];
  try {
    const std::vector<std::filesystem::path> files = files_of(at);
    for (const auto& file : files) {
      at = file.string();
      std::fprintf(stderr, "%s\n", at.c_str());  // the last line before a crash
      replay(file);
    }
    std::printf("%zu files\n", files.size());
    return files.empty() ? 1 : 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "finding: %s: %s\n", at.c_str(), error.what()), 1;
  }
}
