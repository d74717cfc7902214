#include "data/class_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "base/error.h"
#include "base/utf8.h"
#include "data/picture.h"

namespace troika::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesShown = 3;

/// The entries of a folder, sorted by the bytes of their names.
struct Entries {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool has_image_ending(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

[[noreturn]] void refuse_entry(const fs::directory_entry& entry) {
  std::error_code problem;
  if (entry.status(problem).type() == fs::file_type::not_found)
    throw image_error(entry.path().string(), "the link leads nowhere; correct or remove it");
  if (problem)
    throw image_error(entry.path().string(),
                      fmt::format("cannot be read: {}; correct or remove it", problem.message()));
  throw image_error(entry.path().string(), "neither a file nor a folder; remove it");
}

/// Follows links. The listing itself tells files from folders, without a system call per file.
void add_entry(const fs::directory_entry& entry, Entries& entries) {
  std::error_code problem;
  if (entry.is_regular_file(problem))
    entries.files.push_back(entry.path().filename().string());
  else if (entry.is_directory(problem))
    entries.folders.push_back(entry.path().filename().string());
  else
    refuse_entry(entry);
}

Entries list(const fs::path& folder) try {
  Entries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!is_hidden(entry.path())) add_entry(entry, entries);
  // A listing has no defined order, and the numbers of classes and samples depend on it.
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.files);
  return entries;
} catch (const fs::filesystem_error& error) {
  throw image_error(folder.string(),
                    fmt::format("the folder cannot be read: {}; check the path and its permissions",
                                error.code().message()));
}

/// "'a', 'b', 'c' and 2 more"
std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + std::min<std::ptrdiff_t>(kNamesShown, std::ssize(names)));
  std::string list = fmt::format("'{}'", fmt::join(shown, "', '"));
  if (names.size() == shown.size()) return list;
  return fmt::format("{} and {} more", list, names.size() - shown.size());
}

/// The names of the class folders.
std::vector<std::string> list_classes(const fs::path& folder) {
  Entries entries = list(folder);
  if (!entries.files.empty())
    throw image_error(folder.string(),
                      fmt::format("there are files outside of the class folders: {}; move them "
                                  "into DIR/CLASS/ or remove them",
                                  some_of(entries.files)));
  if (entries.folders.empty())
    throw image_error(folder.string(),
                      "there are no class folders; give a folder with one folder per class");
  for (const std::string& name : entries.folders)
    if (!is_utf8(name))
      throw image_error((folder / name).string(),
                        "the name of the class is not UTF-8; rename the folder");
  return entries.folders;
}

/// The image files of one class.
std::vector<std::string> list_images(const fs::path& folder) {
  Entries entries = list(folder);
  if (!entries.folders.empty())
    throw image_error(folder.string(),
                      fmt::format("there are folders within the class folder: {}; name the folder "
                                  "right above the classes",
                                  some_of(entries.folders)));
  std::vector<std::string> others;
  std::ranges::remove_copy_if(entries.files, std::back_inserter(others), has_image_ending);
  if (!others.empty())
    throw image_error(folder.string(),
                      fmt::format("there are files that do not end in .jpg, .jpeg or .png: {}; "
                                  "convert or remove them",
                                  some_of(others)));
  if (entries.files.empty())
    throw image_error(folder.string(), "the class folder has no images; add some or remove it");
  return entries.files;
}

}  // namespace

ClassFolders::ClassFolders(const fs::path& folder)
    : folder_(folder.string()), classes_(list_classes(folder)), name_begins_{0} {
  for (const std::string& name : classes_) add_class(folder / name);
  names_.shrink_to_fit();
  name_begins_.shrink_to_fit();
}

void ClassFolders::add_class(const fs::path& folder) {
  for (const std::string& name : list_images(folder)) {
    // All names in one string: a set of a million files would otherwise need a million allocations.
    names_ += name;
    name_begins_.push_back(names_.size());
  }
  ends_.push_back(std::ssize(name_begins_) - 1);
}

std::size_t ClassFolders::class_of(std::int64_t file) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, file) - ends_.begin());
}

std::string ClassFolders::path(std::int64_t file) const {
  auto at = static_cast<std::size_t>(file);
  std::string_view name =
      std::string_view(names_).substr(name_begins_[at], name_begins_[at + 1] - name_begins_[at]);
  return fmt::format("{}/{}/{}", folder_, classes_[class_of(file)], name);
}

}  // namespace troika::data
