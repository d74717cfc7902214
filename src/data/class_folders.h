// The image files of a folder that has one folder per class: DIR/cat/1.jpg, DIR/dog/2.png.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troika::data {

/// Names only, packed, so that a list of millions of files takes little memory. Classes and the
/// files of each are in the order of the bytes of their names.
class ClassFolders {
 public:
  /// Names that begin with a dot are left out; links are followed. Throws Error(file) naming what
  /// is not an image by its ending (.jpg, .jpeg, .png), lies outside of a class folder, is a folder
  /// within one, or cannot be read; and for an empty class.
  explicit ClassFolders(const std::filesystem::path& folder);

  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t size() const { return ends_.back(); }
  std::size_t class_of(std::int64_t file) const;
  std::string path(std::int64_t file) const;

 private:
  void add_class(const std::filesystem::path& folder);

  std::string folder_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> ends_;        // The number of files up to the end of each class.
  std::string names_;                     // The names of all files, concatenated.
  std::vector<std::size_t> name_begins_;  // In names_; one more than there are files.
};

}  // namespace troika::data
