#include "data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "data/csv_columns.h"
#include "data/csv_table.h"

namespace troika::data {
namespace {

/// Facts about the values of a column that decide between classes and numbers.
struct Survey {
  bool all_whole = true;
  bool any_number = false;
  std::optional<Error> first_word{};  ///< The error for the first cell that is not a number.
  std::int64_t rows = 0;
  std::int64_t largest = 0;
  std::set<std::string, std::less<>> words{};
};

constexpr std::size_t kMostLabels = 100'000;  // A column with more names is not a class.

Survey survey(const FileBytes& file, std::size_t column) {
  Survey found;
  CsvReader reader(file);
  std::vector<CsvCell> cells;
  while (reader.next(cells)) {
    std::optional<std::int64_t> whole = parse_number<std::int64_t>(cells[column].text);
    found.all_whole = found.all_whole && whole;
    if (parse_number<double>(cells[column].text))
      found.any_number = true;
    else if (!found.first_word)
      found.first_word = reader.cell_error(
          column, fmt::format("'{}' is not a number, but other rows have numbers; correct it, or "
                              "add ?task=classify to the name of the data set",
                              cells[column].text.substr(0, 40)));
    found.largest = std::max(found.largest, whole.value_or(0));
    ++found.rows;
    // One more than the limit is enough to know that it is exceeded.
    if (found.words.size() <= kMostLabels) found.words.insert(cells[column].value());
  }
  return found;
}

std::unique_ptr<ImageSource> open_like(const FileBytes& file, const CsvColumns& columns,
                                       const Encoding& like) {
  TargetForm form = TargetForm::class_number;
  if (like.predicts_numbers()) form = TargetForm::numbers;
  if (!like.labels.empty()) form = TargetForm::class_name;
  return std::make_unique<CsvTable>(file, columns, form, like.labels);
}

void require_task(Task stated, bool regresses) {
  if (stated == Task::unstated || (stated == Task::regress) == regresses) return;
  throw Error(ErrorKind::usage, fmt::format("the model was trained to predict {}; remove task=",
                                            regresses ? "numbers" : "classes"));
}

/// Whole numbers can be classes or values. If the rows do not decide it, the user must.
void refuse_doubtful(const FileBytes& file, const std::string& target, const Survey& found) {
  if (found.rows == 0 || found.largest < found.rows) return;
  throw Error(ErrorKind::file,
              fmt::format("{}: the column '{}' has whole numbers up to {} in {} rows, which may be "
                          "classes or numbers to predict; add ?task=regress or ?task=classify to "
                          "the name of the data set",
                          file.path(), target, found.largest, found.rows));
}

std::unique_ptr<ImageSource> learn(const FileBytes& file, const CsvColumns& columns, Task task,
                                   const std::string& target) {
  auto open = [&](TargetForm form, std::vector<std::string> labels = {}) {
    return std::make_unique<CsvTable>(file, columns, form, std::move(labels));
  };
  if (task == Task::classify && columns.targets.size() > 1)
    throw Error(ErrorKind::usage, "task=classify takes one target; remove the others");
  if (task == Task::regress || columns.targets.size() > 1) return open(TargetForm::numbers);
  Survey found = survey(file, columns.targets[0]);
  // Numbers with a few words among them are more likely damaged numbers than classes.
  if (task == Task::unstated && found.first_word && found.any_number) throw *found.first_word;
  // With ?task=classify, fractions such as 0.5 are names of classes.
  bool has_words = found.first_word || (task == Task::classify && !found.all_whole);
  if (has_words && found.words.size() > kMostLabels)
    throw Error(ErrorKind::file, fmt::format("{}: the column '{}' has more than {} classes; choose "
                                             "another with ?target=NAME",
                                             file.path(), target, kMostLabels));
  if (has_words) return open(TargetForm::class_name, {found.words.begin(), found.words.end()});
  if (!found.all_whole) return open(TargetForm::numbers);
  if (task == Task::unstated) refuse_doubtful(file, target, found);
  return open(TargetForm::class_number);
}

}  // namespace

std::unique_ptr<ImageSource> open_csv(const Uri& uri, const OpenOptions& options) {
  FileBytes file = FileBytes::map(uri.path);
  CsvReader reader(file);
  CsvColumns columns = choose_columns(reader, uri, options);
  Task task = task_of(uri);
  if (options.like) {
    require_task(task, options.like->predicts_numbers());
    return open_like(file, columns, *options.like);
  }
  return learn(file, columns, task, reader.header()[columns.targets[0]]);
}

}  // namespace troika::data
