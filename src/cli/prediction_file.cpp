#include "cli/prediction_file.h"

#include <fmt/format.h>

#include "data/csv_reader.h"
#include "data/npy.h"

namespace troika::cli {
namespace {

// One system call per MiB instead of one per row.
constexpr std::size_t kWrittenAtOnce = 1 << 20;

bool is_npy(const std::filesystem::path& path) { return path.extension() == ".npy"; }

std::string csv_header(const PredictedColumns& columns) {
  if (columns.is_class) return "index,predicted,probability\n";
  std::string header = "index";
  for (const std::string& name : columns.names) header += ',' + data::csv_cell(name);
  return header + '\n';
}

std::string array_header(const PredictedColumns& columns) {
  if (columns.is_class) return data::npy_header(data::Element::i32, {columns.samples});
  return data::npy_header(data::Element::f32, {columns.samples, std::ssize(columns.names)});
}

}  // namespace

void require_prediction_file(const std::string& path) {
  if (path.ends_with(".csv") || path.ends_with(".npy")) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("--out '{}' must end with .csv or .npy; the ending chooses the format", path));
}

PredictionFile::PredictionFile(const std::filesystem::path& path, const PredictedColumns& columns)
    : partial_(path), file_(partial_.path()), is_npy_(is_npy(path)) {
  put(is_npy_ ? array_header(columns) : csv_header(columns));
}

void PredictionFile::add(const ClassRow& row) {
  if (is_npy_) return put_number(row.number);
  put(fmt::format("{},{},{}\n", row.index, data::csv_cell(row.name),
                  static_cast<float>(row.probability)));
}

void PredictionFile::add(std::int64_t index, std::span<const double> numbers) {
  std::string line = std::to_string(index);
  for (double number : numbers) {
    auto narrow = static_cast<float>(number);
    is_npy_ ? put_number(narrow) : void(line += fmt::format(",{}", narrow));
  }
  if (!is_npy_) put(line + '\n');
}

void PredictionFile::publish() {
  file_.write(pending_);
  file_.finish();
  // Under its final name the file is complete: a prediction that fails leaves no half of it.
  partial_.publish();
}

void PredictionFile::put(std::string_view text) {
  pending_ += text;
  if (pending_.size() < kWrittenAtOnce) return;
  file_.write(pending_);
  pending_.clear();
}

template <class T>
void PredictionFile::put_number(T number) {
  put({reinterpret_cast<const char*>(&number), sizeof number});
}

}  // namespace troika::cli
