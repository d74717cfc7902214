// Tables: what is a feature, what is to be predicted, and what is wrong with a file.
#include "data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/csv_reader.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const OpenOptions kPlainTable{.normalization = Normalization::identity()};

/// One sample of a regression.
struct Row {
  std::vector<float> input, target;
};

Row read_row(const Dataset& set, std::int64_t index) {
  auto room = [&](std::size_t field) {
    return std::vector<float>(static_cast<std::size_t>(set.fields()[field].spec.shape.elements()));
  };
  Row row{room(0), room(1)};
  std::vector<std::span<std::byte>> fields{std::as_writable_bytes(std::span(row.input)),
                                           std::as_writable_bytes(std::span(row.target))};
  set.read({.index = index}, fields);
  return row;
}

class CsvTables : public testing::Test {
 protected:
  std::unique_ptr<Dataset> open_text(const std::string& content, const std::string& query = "",
                                     const OpenOptions& options = kPlainTable) {
    return open("csv:" + folder_.write("t.csv", content) + query, options);
  }
  std::string refusal(const std::string& content, const std::string& query = "",
                      const OpenOptions& options = kPlainTable) {
    return error_of([&] { open_text(content, query, options); });
  }

  TemporaryFolder folder_;
};

TEST_F(CsvTables, PredictTheLastColumnUnlessAnotherIsNamed) {
  auto set = open_text("a,b,y\n1,2,3.5\n-4,5e2,6\n");
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(set->classes(), 0);
  EXPECT_EQ(set->fields()[0].spec, (TensorSpec{{2}, DType::f32}));
  EXPECT_EQ(set->fields()[1].spec, (TensorSpec{{1}, DType::f32}));
  EXPECT_THAT(read_row(*set, 1).input, ElementsAre(-4, 500));
  EXPECT_THAT(read_row(*set, 1).target, ElementsAre(6));
  EXPECT_THAT(set->encoding().columns, ElementsAre("a", "b"));
  EXPECT_THAT(set->encoding().targets, ElementsAre("y"));

  auto named = open_text("a,b,y\n1.5,2,3\n4,5,6\n", "?target=a[1:]");
  EXPECT_EQ(named->size(), 1);
  EXPECT_THAT(read_row(*named, 0).input, ElementsAre(5, 6));
  EXPECT_THAT(read_row(*named, 0).target, ElementsAre(4));
}

TEST_F(CsvTables, PredictSeveralColumnsInTheOrderGiven) {
  auto set = open_text("a,b,y\n1,2,3\n4,5,6\n", "?target=y+a");
  EXPECT_EQ(set->fields()[1].spec, (TensorSpec{{2}, DType::f32}));
  EXPECT_THAT(read_row(*set, 1).input, ElementsAre(5));
  EXPECT_THAT(read_row(*set, 1).target, ElementsAre(6, 4));
  EXPECT_THAT(refusal("a,b\n1,2\n", "?target=a+a"), HasSubstr("names 'a' twice"));
  EXPECT_THAT(refusal("a,b,y\n1,2,3\n", "?target=y+a&task=classify"), HasSubstr("one target"));
  EXPECT_THAT(open_text("a+b,y\n1.5,2\n", "?target=a+b")->encoding().targets, ElementsAre("a+b"));
}

TEST_F(CsvTables, TakeWholeNumbersAndWordsAsClassesUnlessTold) {
  const std::string whole = "a,y\n1,0\n2,2\n3,1\n";
  auto numbers = open_text(whole);
  EXPECT_EQ(numbers->classes(), 3);
  EXPECT_EQ(read_sample(*numbers, 1).target[0], 2);
  EXPECT_TRUE(open_text(whole, "?task=regress")->encoding().predicts_numbers());
  EXPECT_TRUE(open_text("a,y\n1,2.0\n")->encoding().predicts_numbers());

  auto words = open_text("a,y\n1,red\n2,\"blue, dark\"\n3,red\n");
  EXPECT_THAT(words->encoding().labels, ElementsAre("blue, dark", "red"));
  EXPECT_EQ(words->classes(), 2);
  EXPECT_EQ(read_sample(*words, 0).target[0], 1);
  EXPECT_EQ(open_text("a,y\n1,0.5\n2,1.5\n", "?task=classify")->classes(), 2);
}

TEST_F(CsvTables, RefuseTargetsThatMayBeEither) {
  EXPECT_THAT(refusal("a,y\n1,250000\n2,310000\n"), HasSubstr("?task=regress or ?task=classify"));
  EXPECT_THAT(refusal("a,y\n1,-1\n2,1\n"), HasSubstr("t.csv:2: column 'y': '-1' is not a class"));
  EXPECT_THAT(refusal("a,y\n1,2.5\n2,n/a\n"),
              HasSubstr("t.csv:3: column 'y': 'n/a' is not a number, but other rows"));
  EXPECT_THAT(refusal("a,y\n1,2\n", "?task=guess"), HasSubstr("'regress' or 'classify'"));
}

TEST_F(CsvTables, AreNormalisedByColumn) {
  auto set = open_text("a,b,y\n1,100,1.5\n3,100,2.5\n", "", {});
  EXPECT_EQ(*set->normalization(), (Normalization{{2, 100}, {1, 1}}));
  EXPECT_THAT(read_row(*set, 0).input, ElementsAre(-1, 0));
  EXPECT_THAT(read_row(*set, 0).target, ElementsAre(1.5F)) << "targets stay as they are";
  auto small = open_text("a,y\n1e-9,1.5\n3e-9,2.5\n", "", {});
  EXPECT_FLOAT_EQ(read_row(*small, 1).input[0], 1) << "a small unit is no constant";
}

TEST_F(CsvTables, AreMatchedByNameToWhatAModelWasTrainedOn) {
  auto trained = open_text("a,b,y\n1,10,1.5\n3,30,2.5\n", "", {});
  OpenOptions like{.like = trained->encoding()};
  auto other = open_text("y,extra,b,a\n7,x,20,1\n", "", like);
  EXPECT_EQ(other->encoding(), trained->encoding());
  EXPECT_THAT(read_row(*other, 0).input, ElementsAre(-1, 0));
  EXPECT_THAT(read_row(*other, 0).target, ElementsAre(7));
  EXPECT_THAT(refusal("a,y\n1,2\n", "", like), HasSubstr("no column 'b', which the model was"));
  EXPECT_THAT(refusal("a,b\n1,2\n", "", like),
              HasSubstr("no column 'y', which the model predicts"));
  EXPECT_THAT(refusal("a,b,y\n1,2,3\n", "?target=a", like), HasSubstr("to predict 'y', not 'a'"));
  EXPECT_THAT(refusal("a,b,y\n1,2,3\n", "?task=classify", like), HasSubstr("predict numbers"));

  like.unlabelled = true;
  auto unlabelled = open_text("b,a\n20,1\n", "", like);
  EXPECT_FALSE(unlabelled->has_targets());
  EXPECT_EQ(unlabelled->encoding(), trained->encoding());
  EXPECT_THAT(read_row(*unlabelled, 0).input, ElementsAre(-1, 0));
  EXPECT_TRUE(open_text("b,a,y\n20,1,4\n", "", like)->has_targets());
}

TEST_F(CsvTables, KnowTheClassesOfTheModel) {
  auto trained = open_text("a,y\n1,red\n2,blue\n");
  OpenOptions like{.like = trained->encoding(), .unlabelled = true};
  EXPECT_EQ(read_sample(*open_text("y,a\nred,1\n", "", like), 0).target[0], 1);
  EXPECT_THAT(refusal("y,a\ngreen,1\n", "", like), HasSubstr("'green' is not known"));
  auto unlabelled = open_text("a\n1\n", "", like);
  EXPECT_FALSE(unlabelled->has_targets());
  EXPECT_EQ(unlabelled->classes(), 2);
}

TEST_F(CsvTables, SayWhereTheyAreWrong) {
  EXPECT_THAT(refusal(""), HasSubstr("t.csv:1: the file is empty"));
  EXPECT_THAT(refusal("a,b,y\n"), HasSubstr("no rows below the header"));
  EXPECT_THAT(refusal("1,2,3\n4,5,6\n"), HasSubstr("it has numbers; add a header"));
  EXPECT_THAT(refusal(",a,y\n0,1,2.5\n"), HasSubstr("column 1 has no name"));
  EXPECT_THAT(refusal("a,a,y\n0,1,2.5\n"), HasSubstr("two columns are called 'a'"));
  EXPECT_THAT(refusal("\xFF,y\n0,1.5\n"), HasSubstr("column 1 is not UTF-8"));
  EXPECT_THAT(refusal("y\n1.5\n"), HasSubstr("no column but 'y'"));
  EXPECT_THAT(refusal("a,y\n1,2.5\n3\n"), HasSubstr("t.csv:3: the row has 1 cells"));
  EXPECT_THAT(refusal("a,y\n1,2.5\n\n3,4,5\n"), HasSubstr("t.csv:4: the row has 3 cells"));
  EXPECT_THAT(refusal("a,y\n1,2.5\nx,4\n"), HasSubstr("t.csv:3: column 'a': 'x' is not a number"));
  EXPECT_THAT(refusal("a,y\n,2.5\n"), HasSubstr("column 'a': the cell is empty"));
  EXPECT_THAT(refusal("a,y\n1e99,2.5\n"), HasSubstr("not a finite number"));
  EXPECT_THAT(refusal("a,y\n\"1\n2\",2.5\nx,1\n"), HasSubstr("t.csv:2: column 'a'"));
  EXPECT_THAT(refusal("a,y\n1,2.5\n", "?target=z"), HasSubstr("no column 'z', which target="));
  EXPECT_THAT(refusal("a,y\n1,\"2\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(refusal("a,y\n1,\"2\"3\n"), HasSubstr("after a closing quote"));
  EXPECT_THAT(refusal("a,y\n1,2\"3\n"), HasSubstr("a quote inside"));
}

TEST_F(CsvTables, MayHaveAByteOrderMarkCrLfBlanksAndEmptyLines) {
  auto set = open_text("\xEF\xBB\xBF\"a\" , b ,y\r\n\r\n 1 ,\"2\", +3.5 \r\n4,5,6.5\r\n\r\n");
  EXPECT_EQ(set->size(), 2);
  EXPECT_THAT(set->encoding().columns, ElementsAre("a", "b"));
  EXPECT_THAT(read_row(*set, 0).input, ElementsAre(1, 2));
  EXPECT_THAT(read_row(*set, 0).target, ElementsAre(3.5F));
  EXPECT_THAT(read_row(*open_text("a,y\n1,2.5"), 0).target, ElementsAre(2.5F));
}

TEST(CsvCells, ReadBackWhatIsWritten) {
  TemporaryFolder folder;
  const std::vector<std::string> names{"plain", "with, comma", "\"quoted\"", "two\nlines",
                                       " blank"};
  std::string line;
  for (const std::string& name : names) line += (line.empty() ? "" : ",") + csv_cell(name);
  FileBytes file = FileBytes::map(folder.write("t.csv", line + "\n"));
  EXPECT_EQ(CsvReader(file).header(), names);
}

}  // namespace
}  // namespace troika::data
