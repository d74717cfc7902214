#include "train/writer_lease.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <thread>

#include "base/error.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

void write_lease(const Folder& folder, const std::string& boot) {
  std::ofstream(folder.path / "lock.new")
      << R"({"host":"elsewhere","process":4711,"started":"yesterday","boot":")" << boot << "\"}";
  fs::rename(folder.path / "lock.new", folder.path / "lock");
}

std::string refusal(const Folder& folder, WriterLease::Times times = {}) {
  try {
    WriterLease lease(folder.path, times);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "none";
}

TEST(WriterLease, IsExclusiveAndEndsWithItsOwner) {
  Folder folder;
  {
    WriterLease lease(folder.path);
    EXPECT_EQ(lease.takeover(), "");
    EXPECT_THAT(refusal(folder), HasSubstr("process " + std::to_string(getpid())));
    lease.require();
  }
  EXPECT_TRUE(fs::is_empty(folder.path));
  EXPECT_EQ(refusal(folder), "none");
}

TEST(WriterLease, OfAProcessThatDiedOnThisComputerIsTakenAtOnce) {
  Folder folder;
  pid_t child = fork();
  if (child == 0) {
    new WriterLease(folder.path);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  WriterLease lease(folder.path);
  EXPECT_THAT(lease.takeover(), AllOf(HasSubstr("process " + std::to_string(child)),
                                      HasSubstr("ended without closing it")));
}

TEST(WriterLease, OfAnotherComputerCountsUntilItIsStale) {
  Folder folder;
  write_lease(folder, "other");
  EXPECT_THAT(refusal(folder), AllOf(HasSubstr("process 4711 on elsewhere, since yesterday"),
                                     HasSubstr("if it is gone, try again in")));
  fs::last_write_time(folder.path / "lock", fs::file_time_type::clock::now() - 70min);
  WriterLease lease(folder.path);
  // The clock of the file system may be a few milliseconds behind.
  EXPECT_THAT(lease.takeover(),
              AnyOf(HasSubstr("process 4711 on elsewhere, which was last seen 4200 s"),
                    HasSubstr("process 4711 on elsewhere, which was last seen 4199 s")));
}

TEST(WriterLease, IsRenewedWhileItsOwnerRuns) {
  Folder folder;
  WriterLease lease(folder.path, {.beat = 10ms});
  fs::last_write_time(folder.path / "lock", fs::file_time_type::clock::now() - 1h);
  auto is_renewed = [&] {
    return fs::file_time_type::clock::now() - fs::last_write_time(folder.path / "lock") < 1min;
  };
  for (int tries = 0; tries < 500 && !is_renewed(); ++tries) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(is_renewed());
}

TEST(WriterLease, ThatWasTakenOverIsNotRenewedAndEndsTheOwnersWrites) {
  Folder folder;
  {
    WriterLease lease(folder.path, {.beat = 10ms});
    write_lease(folder, "other");
    auto before = fs::last_write_time(folder.path / "lock");
    try {
      lease.require();
      ADD_FAILURE() << "the lease is gone";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 3);
      EXPECT_THAT(error.what(), HasSubstr("process 4711 on elsewhere has taken over"));
    }
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(fs::last_write_time(folder.path / "lock"), before);
  }
  EXPECT_TRUE(fs::exists(folder.path / "lock"));  // it belongs to the other owner
}

TEST(WriterLease, WithoutItsFileWritesNothing) {
  Folder folder;
  WriterLease lease(folder.path);
  fs::remove(folder.path / "lock");
  EXPECT_THROW(lease.require(), Error);
}

TEST(WriterLease, InAFolderThatCannotBeWrittenIsAFileError) {
  Folder folder;
  try {
    WriterLease lease(folder.path / "missing");
    ADD_FAILURE() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
  }
}

}  // namespace
}  // namespace troika
