#include "data/class_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A folder with two classes of two files each.
class ClassFoldersTest : public testing::Test {
 protected:
  ClassFoldersTest() {
    for (const char* name : {"dog/b.PNG", "dog/a.jpg", "cat/2.jpeg", "cat/10.png"}) add(name);
  }

  void add(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    folder_.write(name, "x");
  }
  void link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, folder_.path(name));
  }
  std::string error() {
    return error_of([&] { ClassFolders files(folder_.path()); });
  }

  TemporaryFolder folder_;
};

TEST_F(ClassFoldersTest, ListsClassesAndFilesInTheOrderOfTheirBytes) {
  ClassFolders files(folder_.path());
  EXPECT_THAT(files.classes(), ElementsAre("cat", "dog"));
  ASSERT_EQ(files.size(), 4);
  const char* names[] = {"cat/10.png", "cat/2.jpeg", "dog/a.jpg", "dog/b.PNG"};
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(files.path(i), folder_.path(names[i]));
    EXPECT_EQ(files.class_of(i), i < 2 ? 0u : 1u);
  }
}

TEST_F(ClassFoldersTest, LeavesOutHiddenNames) {
  add(".git/config");
  add("cat/.thumbnail.gif");
  add(".listing");
  EXPECT_EQ(ClassFolders(folder_.path()).size(), 4);
}

TEST_F(ClassFoldersTest, FollowsLinks) {
  link("cat", "lion");
  link("../dog/a.jpg", "cat/3.jpg");
  ClassFolders files(folder_.path());
  EXPECT_THAT(files.classes(), ElementsAre("cat", "dog", "lion"));
  EXPECT_EQ(files.size(), 3 + 2 + 3);
}

TEST_F(ClassFoldersTest, RefusesLinksInACircleOrToNowhere) {
  link("round.jpg", "cat/round.jpg");
  EXPECT_THAT(error(), AllOf(HasSubstr("cat/round.jpg': cannot be read: "), HasSubstr("links")));
  std::filesystem::remove(folder_.path("cat/round.jpg"));
  link("gone.jpg", "cat/lost.jpg");
  EXPECT_THAT(error(), HasSubstr("cat/lost.jpg': the link leads nowhere; correct or remove it"));
  std::filesystem::remove(folder_.path("cat/lost.jpg"));
  link("..", "cat/up");
  EXPECT_THAT(error(), HasSubstr("there are folders within the class folder: 'up'"));
}

TEST_F(ClassFoldersTest, RefusesFilesOutsideOfClasses) {
  add("stray.jpg");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("there are files outside of the class folders: 'stray.jpg';"),
                    HasSubstr("move them into DIR/CLASS/")));
}

TEST_F(ClassFoldersTest, RefusesOtherFilesAndListsTheFirst) {
  for (const char* name : {"dog/1.txt", "dog/2.gif", "dog/3.bmp", "dog/4", "dog/5.jpg.gz"})
    add(name);
  EXPECT_THAT(
      error(),
      AllOf(HasSubstr("do not end in .jpg, .jpeg or .png: '1.txt', '2.gif', '3.bmp' and 2 more;"),
            HasSubstr("convert or remove them")));
}

TEST_F(ClassFoldersTest, RefusesAnEmptyClassAndAnEmptyFolder) {
  std::filesystem::create_directory(folder_.path("bird"));
  EXPECT_THAT(error(), HasSubstr("bird': the class folder has no images; add some or remove it"));
  EXPECT_THAT(error_of([&] { ClassFolders files(folder_.path("bird")); }),
              HasSubstr("there are no class folders"));
}

TEST_F(ClassFoldersTest, RefusesTheFolderAboveTrainAndTest) {
  TemporaryFolder above;
  std::filesystem::create_directories(above.path("train/cat"));
  EXPECT_THAT(error_of([&] { ClassFolders files(above.path()); }),
              AllOf(HasSubstr("train': there are folders within the class folder"),
                    HasSubstr("'cat'"), HasSubstr("name the folder right above the classes")));
}

TEST_F(ClassFoldersTest, RefusesWhatIsNotThereOrNoFile) {
  EXPECT_THAT(error_of([&] { ClassFolders files(folder_.path("none")); }),
              HasSubstr("none': the folder cannot be read: No such file"));
  ASSERT_EQ(mkfifo(folder_.path("cat/pipe.jpg").c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("cat/pipe.jpg': neither a file nor a folder"));
}

TEST_F(ClassFoldersTest, RefusesAFolderThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  chmod(folder_.path("cat").c_str(), 0);
  EXPECT_THAT(error(), HasSubstr("cat': the folder cannot be read: Permission denied"));
  chmod(folder_.path("cat").c_str(), 0700);
}

}  // namespace
}  // namespace troika::data
