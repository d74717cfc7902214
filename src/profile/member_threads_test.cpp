#include "profile/member_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "collective/algorithms.h"
#include "comm/communicator.h"

namespace troika {
namespace {

TEST(MemberThreads, AllOfThemRunOverOneTransport) {
  std::atomic<int> members = 0;
  run_member_threads({.members = 3}, [&](ThreadTransport&, int member) { members += 1 << member; });
  EXPECT_EQ(members, 7);
}

TEST(MemberThreads, WhatOneThrowsEndsTheWaitsOfTheOthersAndReachesTheCaller) {
  std::atomic<int> told = 0;
  auto body = [&](ThreadTransport& transport, int member) {
    if (member == 1) throw Error(ErrorKind::memory, "there is no room for 64 MiB");
    MoveScheduler scheduler(transport, DeviceId(static_cast<std::size_t>(member)));
    Communicator communicator(scheduler, {DeviceId(0), DeviceId(1), DeviceId(2)});
    try {
      communicator.run(make_recipe(equal_parts(Collective::barrier, 3, 0), "dissemination"), {},
                       {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::peer);
      EXPECT_NE(std::string(error.what()).find("no room for 64 MiB"), std::string::npos);
      ++told;
      throw;
    }
  };
  try {
    run_member_threads({.members = 3}, body);
    FAIL() << "the exception was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
  }
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace troika
