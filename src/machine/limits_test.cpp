// Control groups as made-up trees of /proc and /sys.
#include "machine/limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "machine/computer.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// A root folder with the files of a test.
class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    std::string name = (fs::temp_directory_path() / "troika-limits-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~LimitsTest() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void mount_v2(const std::string& group, const std::string& mount_root = "/") const {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo",
          "22 1 0:20 / /proc rw shared:1 - proc proc rw\n"
          "30 23 0:26 " +
              mount_root + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  }
  void mount_v1(const std::string& memory, const std::string& cpu,
                const std::string& mount_root = "/") const {
    write("proc/self/cgroup",
          "9:name=systemd:/init\n4:memory:" + memory + "\n1:cpu,cpuacct:" + cpu + "\n0::/\n");
    write("proc/self/mountinfo", "32 31 0:29 " + mount_root +
                                     " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
                                     "rw,cpu,cpuacct\n"
                                     "35 31 0:32 " +
                                     mount_root +
                                     " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }

  fs::path root_;
};

TEST_F(LimitsTest, NoneWhereTheSystemHasNoGroups) {
  CgroupLimits limits = read_cgroup_limits(root_);
  EXPECT_FALSE(limits.memory);
  EXPECT_FALSE(limits.cores);
  EXPECT_EQ(throttled_time(root_).count(), 0);
}

TEST_F(LimitsTest, OfVersion2AreTheTightestOnTheWayUp) {
  mount_v2("/job/step/task");
  write("sys/fs/cgroup/job/memory.max", "125829120\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 13631488\nfile 999999999\n");
  write("sys/fs/cgroup/job/step/memory.max", "1073741824\n");
  write("sys/fs/cgroup/job/step/task/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  CgroupLimits limits = read_cgroup_limits(root_);
  ASSERT_TRUE(limits.memory);
  EXPECT_EQ(limits.memory->limit, Bytes{120 * kMiB});
  EXPECT_EQ(limits.memory->left(), Bytes{107 * kMiB});
  EXPECT_EQ(limits.memory->file, (root_ / "sys/fs/cgroup/job/memory.max").string());
  ASSERT_TRUE(limits.cores);
  EXPECT_DOUBLE_EQ(limits.cores->cores, 1.5);
  EXPECT_EQ(whole_cores(*limits.cores), 1);
}

TEST_F(LimitsTest, CountWhereAGroupWouldOnlyBeSlowedDown) {
  mount_v2("/job");
  write("sys/fs/cgroup/job/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.high", "52428800\n");
  EXPECT_EQ(read_cgroup_limits(root_).memory->limit, Bytes{50 * kMiB});
}

TEST_F(LimitsTest, OfVersion1AreReadFromEachHierarchy) {
  mount_v1("/slurm/uid_1/job_2", "/slurm/uid_1");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/slurm/uid_1/job_2/memory.limit_in_bytes", "125829120\n");
  write("sys/fs/cgroup/memory/slurm/uid_1/job_2/memory.stat", "rss 1\ntotal_rss 20971520\n");
  write("sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CgroupLimits limits = read_cgroup_limits(root_);
  ASSERT_TRUE(limits.memory);
  EXPECT_EQ(limits.memory->limit, Bytes{120 * kMiB});
  EXPECT_EQ(limits.memory->left(), Bytes{100 * kMiB});
  ASSERT_TRUE(limits.cores);
  EXPECT_DOUBLE_EQ(limits.cores->cores, 4);
}

TEST_F(LimitsTest, OfAContainerStandAtTheTopOfItsMount) {
  mount_v1("/docker/abc", "/docker/abc", "/docker/abc");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "125829120\n");
  EXPECT_EQ(read_cgroup_limits(root_).memory->limit, Bytes{120 * kMiB});
  mount_v2("/../outside");
  write("sys/fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(read_cgroup_limits(root_).memory->limit, Bytes{kMiB});
}

TEST_F(LimitsTest, FilesOfNonsenseSetNone) {
  mount_v2("/job");
  write("sys/fs/cgroup/job/memory.max", "lots\n");
  write("sys/fs/cgroup/job/cpu.max", "100000\n");
  write("sys/fs/cgroup/cpu.max", "100000 0\n");
  CgroupLimits limits = read_cgroup_limits(root_);
  EXPECT_FALSE(limits.memory);
  EXPECT_FALSE(limits.cores);
}

TEST_F(LimitsTest, GroupsAreToldApart) {
  mount_v2("/a");
  write("sys/fs/cgroup/a/memory.max", "1048576\n");
  write("sys/fs/cgroup/b/memory.max", "1048576\n");
  std::string first = read_cgroup_limits(root_).memory->group;
  EXPECT_EQ(read_cgroup_limits(root_).memory->group, first);
  mount_v2("/b");
  EXPECT_NE(read_cgroup_limits(root_).memory->group, first);
}

TEST_F(LimitsTest, ThrottledTimeIsInTheUnitsOfEachVersion) {
  mount_v2("/job");
  write("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 2500\n");
  EXPECT_EQ(throttled_time(root_), std::chrono::microseconds(2500));
  mount_v1("/", "/job");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_throttled 3\nthrottled_time 7000\n");
  EXPECT_EQ(throttled_time(root_), std::chrono::nanoseconds(7000));
}

}  // namespace
}  // namespace troika
