// The commands of a newcomer as typed into a shell: one's own data under mpirun, and every mistake
// that docs/errors.md lists.
#include <gmock/gmock.h>

#include <regex>

#include "own_files.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Newcomer : public OwnFiles {
 protected:
  static bool has_mpi() { return access(TROIKA_MPIRUN, X_OK) == 0; }

  /// A line with `troika` and `mpirun` in the path. The variables are for Open MPI: root may start
  /// it, with more ranks than cores and without ssh.
  Result shell(const std::string& line) {
    std::string ready = "export PATH='" + program().parent_path().string() +
                        "':\"$PATH\" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                        "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated "
                        "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1\n"
                        "mpirun() { " TROIKA_MPIRUN " \"$@\"; }\n";
    return wait_for(start_process({"/bin/sh", "-c", ready + line + " < /dev/null"}, {}), {});
  }
};

TEST_F(Newcomer, TrainsResumesAndPredictsUnderMpirun) {
  if (!has_mpi()) GTEST_SKIP() << "no MPI: " << TROIKA_MPIRUN << " is not available";
  write_images(120);
  folder_.write("own.toml", kImages);
  Result trained = shell("mpirun -n 2 troika train own.toml");
  ASSERT_EQ(trained.code, 0) << trained.out << trained.err;
  EXPECT_THAT(trained.out,
              AllOf(HasSubstr("16 -> 8 on each of 2 devices"),
                    HasSubstr("(96 samples), validation 20% (24)"), HasSubstr("stopped early")));
  Result resumed =
      shell("mpirun -n 2 troika train --resume runs/own train.patience=1000 train.epochs=30");
  ASSERT_EQ(resumed.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out, AllOf(HasSubstr("resumed from"), HasSubstr("step 180/180")));
  // What two ranks have saved, one process reads.
  Result best = shell("troika eval runs/own --best");
  EXPECT_THAT(best.out, AllOf(HasSubstr("20% of npy:"), HasSubstr("validation_accuracy  100.00 %")))
      << best.err;
  Result predicted = shell("troika predict runs/own --best --data npy:images.npy --out y.csv");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(read_text(path("y.csv")), HasSubstr("\n1,1,"));
}

/// One row of the table in docs/errors.md.
struct Mistake {
  std::string command;
  std::string said;  ///< "…" stands for any text.
  int code;
};

const std::regex kRow("\\| `([^`]+)` \\| `([^`]+)` \\| ([0-9]+) \\| (.+) \\|");

/// Whether the text is the pattern, whose "…" stands for anything.
bool is_like(const std::string& text, const std::string& pattern) {
  const std::string gap = "…";
  std::size_t at = 0, begin = 0;
  for (std::size_t end; (end = pattern.find(gap, begin)) != pattern.npos;
       begin = end + gap.size()) {
    std::string part = pattern.substr(begin, end - begin);
    std::size_t found = text.find(part, at);
    if (found == text.npos || (begin == 0 && found != 0)) return false;
    at = found + part.size();
  }
  std::string last = pattern.substr(begin);
  return begin == 0 ? text == last : text.substr(at).ends_with(last);
}

class ErrorPage : public Newcomer {
 protected:
  ErrorPage() {
    write_images(60);
    folder_.write("own.toml", kImages);
    folder_.write("new.toml", kImages);
    folder_.write("points.csv", table(true));
    folder_.write("points.toml", kPoints);
    folder_.write("broken.toml", "[model\nname = \"mlp\"\n");
    folder_.write("broken.json", "{\n  \"format\": \"troika plan 1\",\n  oops\n}\n");
    folder_.write("twice.json", R"({"format": "troika plan 2", "splits": {"fc1": {}, "fc1": {}}})");
    folder_.write("empty.csv", "");
    folder_.write("header.csv", "a,b,y\n");
    folder_.write("ragged.csv", "a,b,y\n1,2,3.5\n2,3\n");
    folder_.write("words.csv", "a,b,y\n1,2,3.5\nx,3,4.5\n");
    folder_.write("gap.csv", "a,b,y\n1,2,3.5\n2,,4.5\n");
    folder_.write("whole.csv", "a,b,y\n1,2,3\n2,3,4\n");
    folder_.write("narrow.csv", "a\n1\n2\n");
    folder_.write("new.csv", table(false));
    folder_.write("few.npy", npy_file("<i4", "2,", std::vector<std::int32_t>{0, 1}));
    folder_.write("negative.npy", npy_file("<i4", "60,", std::vector<std::int32_t>(60, -1)));
    folder_.write("half.npy", npy_file("<f2", "60, 8, 8", std::vector<std::int16_t>(3840)));
    folder_.write("cut.npy", npy_file("<f4", "60, 8, 8", std::vector<float>(25)));
    folder_.write("wide.npy", npy_file("<f4", "15, 16, 16", std::vector<float>(3840)));
  }

  /// The message on stderr. mpirun adds lines of its own and may mix those of several ranks, so
  /// there the message is searched for.
  static std::string sentence(const Result& result, const Mistake& mistake) {
    std::string text = result.err.substr(0, result.err.find_last_not_of('\n') + 1);
    if (!mistake.command.starts_with("mpirun")) return text;
    std::string_view said = std::string_view(mistake.said).substr(sizeof "error: " - 1);
    if (text.find(said) != text.npos) return mistake.said;
    std::size_t begin = text.find("error: ");
    return begin == text.npos ? text : text.substr(begin, text.find('\n', begin) - begin);
  }

  /// The row as it should be; its own text where it is right.
  std::string checked(const std::string& row, const Mistake& mistake, const std::string& advice) {
    Result result = shell(mistake.command);
    std::string said = sentence(result, mistake);
    if (result.code == mistake.code && is_like(said, mistake.said)) return row;
    EXPECT_EQ(result.code, mistake.code) << mistake.command;
    EXPECT_EQ(said, mistake.said) << mistake.command;
    return "| `" + mistake.command + "` | `" + said + "` | " + std::to_string(result.code) + " | " +
           advice + " |";
  }
};

TEST_F(ErrorPage, QuotesWhatTheProgramSays) {
  for (const char* file : {"own.toml", "points.toml"})
    ASSERT_EQ(run({"train", file, "train.epochs=1"}).code, 0) << file;
  std::istringstream page(read_text(fs::path(TROIKA_DOCS) / "errors.md"));
  std::string corrected;
  int rows = 0;
  for (std::string line; std::getline(page, line); corrected += line + "\n") {
    std::smatch cells;
    if (!std::regex_match(line, cells, kRow)) continue;
    ++rows;
    Mistake mistake{cells[1], cells[2], std::stoi(cells[3])};
    if (mistake.command.starts_with("mpirun") && !has_mpi()) continue;
    line = checked(line, mistake, cells[4]);
  }
  EXPECT_GT(rows, 50);
  if (!HasFailure()) return;
  fs::path better = fs::read_symlink("/proc/self/exe").parent_path() / "errors.md";
  std::ofstream(better) << corrected;
  ADD_FAILURE() << "docs/errors.md is stale; the page as it should be: " << better;
}

}  // namespace
}  // namespace troika
