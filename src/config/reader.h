// Collects the origin of every value and every complaint while a file is read, so that all
// complaints are reported at once.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"

namespace troika::config {

/// Where each stated value came from, by its path ("optimizer.learning_rate"). Values without an
/// entry are defaults.
using Origins = std::map<std::string, Where, std::less<>>;

/// One line of a compiler-like report.
struct Complaint {
  Where where;
  std::string message;
};

/// "FILE:LINE:COLUMN: error: MESSAGE" or "command line: error: MESSAGE", in the order of the file.
std::string report(std::vector<Complaint> complaints, std::string_view file);

std::string join_path(std::string_view path, std::string_view key);
/// "links[2]": the path of one table in an array of tables, counted from 0.
std::string row_path(std::string_view path, std::size_t row);

class Reader {
 public:
  /// `known_paths`: all existing paths, for suggestions across sections.
  explicit Reader(std::vector<std::string> known_paths) : known_paths_(std::move(known_paths)) {}

  void set_origin(const std::string& path, Where where) { origins_[path] = where; }
  void forget_origin(const std::string& path) { origins_.erase(path); }
  Where origin(std::string_view path) const;
  bool is_stated(std::string_view path) const { return origins_.contains(path); }

  bool is_refused(std::string_view path) const { return refused_paths_.contains(path); }
  void refuse(std::string_view path, Where where, std::string message);
  /// Refuses values that are wrong only in combination, unless one of them was refused already.
  /// Points at the first one that was stated, or else at the section of the first.
  void refuse_together(std::initializer_list<std::string_view> paths, std::string message);
  void refuse_unknown(std::string_view path, const Field& field,
                      const std::vector<std::string>& known_keys);

  const Origins& origins() const { return origins_; }
  const std::vector<Complaint>& complaints() const { return complaints_; }

 private:
  /// By the name that other frameworks use.
  std::optional<std::string> suggest_by_habit(std::string_view path, const Field& field) const;
  std::string suggest(std::string_view path, const Field& field,
                      const std::vector<std::string>& known_keys) const;

  std::vector<std::string> known_paths_;
  Origins origins_;
  std::set<std::string, std::less<>> refused_paths_;
  std::vector<Complaint> complaints_;
};

}  // namespace troika::config
