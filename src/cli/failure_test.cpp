#include "cli/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <sstream>

#include "base/error.h"

namespace troika::cli {
namespace {

struct Reported {
  int code;
  std::string err;
};

Reported report(const std::exception& failure) {
  std::ostringstream out, err;
  Console console(out, err, {});
  int code = report_failure(failure, console);
  return {code, err.str()};
}

TEST(ReportFailure, ExitsWithTheCodeOfTheKindOfError) {
  for (ErrorKind kind :
       {ErrorKind::usage, ErrorKind::file, ErrorKind::memory, ErrorKind::peer, ErrorKind::numeric})
    EXPECT_EQ(report(Error(kind, "No.")).code, static_cast<int>(kind));
  EXPECT_EQ(report(Error(ErrorKind::file, "No.")).err, "error: No.\n");
}

TEST(ReportFailure, LeavesACompilersFormAlone) {
  EXPECT_EQ(report(Error(ErrorKind::usage, "run.toml:7:1: error: no.")).err,
            "run.toml:7:1: error: no.\n");
}

TEST(ReportFailure, SaysThatMemoryRanOut) { EXPECT_EQ(report(std::bad_alloc()).code, 4); }

TEST(ReportFailure, BlamesTheDiskForWhatTheStandardLibraryCannotReach) {
  std::filesystem::filesystem_error denied("status", "runs/x",
                                           std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(report(denied).code, 3);
  EXPECT_EQ(report(denied).err, "error: cannot access 'runs/x': Permission denied\n");
}

TEST(ReportFailure, AsksForAReportOfABug) {
  Reported bug = report(Bug("a == b: 1 vs 2"));
  EXPECT_EQ(bug.code, 70);
  EXPECT_THAT(bug.err, testing::StartsWith("error: a == b: 1 vs 2\n"));
  EXPECT_THAT(bug.err, testing::HasSubstr("Please report it"));
  EXPECT_EQ(report(std::runtime_error("unforeseen")).code, 70);
}

}  // namespace
}  // namespace troika::cli
