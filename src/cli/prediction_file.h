// Predictions in a file, a row per sample, instead of on the terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/durable_file.h"

namespace troika::cli {

/// The columns of a prediction file.
struct PredictedColumns {
  bool is_class = false;             ///< A class and its probability, not numbers.
  std::vector<std::string> names{};  ///< Names of the numbers.
  std::int64_t samples = 0;          ///< Number of rows.
};

/// Throws Error(usage) unless the name ends with .csv or .npy.
void require_prediction_file(const std::string& path);

/// FILE.csv has a header and the columns "index", then "predicted" (a class by its name) and
/// "probability", or the numbers. FILE.npy is i32 [N], class numbers, or f32 [N,K]. Written under
/// a temporary name that publish() changes. Every failure throws Error(file).
class PredictionFile {
 public:
  PredictionFile(const std::filesystem::path& path, const PredictedColumns& columns);

  struct ClassRow {
    std::int64_t index = 0;
    std::int32_t number = 0;
    std::string_view name;
    double probability = 0;
  };
  void add(const ClassRow& row);
  void add(std::int64_t index, std::span<const double> numbers);

  /// After the last row.
  void publish();

 private:
  void put(std::string_view text);
  template <class T>
  void put_number(T number);

  Partial partial_;
  OutputFile file_;
  bool is_npy_;
  std::string pending_;  // Rows that are written at once.
};

}  // namespace troika::cli
