#include "base/durable_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace troika {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class DurableFile : public testing::Test {
 protected:
  ~DurableFile() override { fs::remove(path_); }

  fs::path path_ =
      fs::temp_directory_path() / ("troika-durable-file-" + std::to_string(::getpid()));
};

/// Limits the size of files of this process while it lives, and ignores SIGXFSZ.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = std::signal(SIGXFSZ, SIG_IGN);
};

std::string complaint_of_write(OutputFile& file, std::string_view text) {
  try {
    file.write(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
    return error.what();
  }
  return "none";
}

TEST_F(DurableFile, ThatIsAppendedToKeepsWhatItHas) {
  std::ofstream(path_) << "one\n";
  OutputFile file(path_, OutputFile::Content::appended);
  file.write("two\n");
  file.finish();
  std::ostringstream text;
  text << std::ifstream(path_).rdbuf();
  EXPECT_EQ(text.str(), "one\ntwo\n");
}

TEST_F(DurableFile, OnAFullDiskSaysSo) {
  OutputFile file("/dev/full", OutputFile::Content::kept);
  EXPECT_THAT(complaint_of_write(file, "one"),
              AllOf(HasSubstr("cannot write '/dev/full': No space left on device"),
                    HasSubstr("free some space")));
}

TEST_F(DurableFile, BeyondTheSizeLimitNamesFileAndLimit) {
  OutputFile file(path_);
  std::string complaint;
  {
    FileLimit limit(2048);
    complaint = complaint_of_write(file, std::string(4096, 'x'));
  }
  EXPECT_THAT(complaint, AllOf(HasSubstr(path_.string()), HasSubstr("File too large"),
                               HasSubstr("at most 2.0 KiB"), HasSubstr("ulimit -f")));
}

}  // namespace
}  // namespace troika
