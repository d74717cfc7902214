#include "taskgraph/turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const IdFields kId{.micro_batch = 1023,
                   .phase = 9,
                   .subject = Subject::parameter,
                   .number = 65535,
                   .index = 40000,
                   .device = 9215};
const TurnFields kTurn{
    .slot = 4095, .place = 65535, .phase = 15, .side = Side::after, .number = 123, .rank = 16383};

TEST(Turn, PacksWhatItUnpacks) {
  EXPECT_EQ(unpack(pack(kId)), kId);
  EXPECT_EQ(unpack(pack(kTurn)), kTurn);
}

TEST(Turn, ComparesByItsFieldsFromTheFirstOn) {
  TurnFields before{.slot = 1, .place = 7, .side = Side::before, .number = 9, .rank = 9};
  TurnFields at{.slot = 1, .place = 7, .side = Side::at};
  TurnFields next{.slot = 1, .place = 8, .side = Side::before};
  EXPECT_LT(pack(before), pack(at));
  EXPECT_LT(pack(at), pack(next));
  EXPECT_LT(pack(IdFields{.device = 65535}), pack(IdFields{.index = 1}));
}

TEST(Urgency, IsGreaterTheSoonerAMessageIsNeeded) {
  Turn sooner = pack({.slot = 1, .place = 7, .side = Side::before, .number = 65535, .rank = 9});
  Turn later = pack({.slot = 1, .place = 7, .side = Side::at});
  EXPECT_GT(urgency_of(0, sooner), urgency_of(0, later));
  EXPECT_GT(urgency_of(1, sooner), urgency_of(1, later));
  EXPECT_GT(urgency_of(0, pack(kTurn)), urgency_of(1, Turn{}));
}

TEST(Urgency, IsTheSameForAllMessagesOfOneNumberThatAreReadAtOnePlace) {
  Turn one = pack({.slot = 1, .place = 7, .number = 3, .rank = 1});
  Turn other = pack({.slot = 1, .place = 7, .number = 3, .rank = 16383});
  EXPECT_EQ(urgency_of(2, one), urgency_of(2, other));
  EXPECT_GT(urgency_of(2, one), urgency_of(2, pack({.slot = 1, .place = 7, .number = 4})));
}

TEST(Urgency, OfListedMessagesIsGreaterThanOfAllOthers) {
  EXPECT_GT(listed_urgency(0), listed_urgency(1));
  EXPECT_GT(listed_urgency(std::numeric_limits<std::int32_t>::max()), urgency_of(0, Turn{}));
}

TEST(Turn, AFieldThatDoesNotFitIsRefused) {
  EXPECT_THROW(urgency_of(8192, {}), OutOfIds);
  EXPECT_THROW(pack(IdFields{.device = 65536}), OutOfIds);
  EXPECT_THAT([] { pack(TurnFields{.rank = 16384}); },
              ThrowsMessage<OutOfIds>(HasSubstr("rank 16384 does not fit into 14 bits")));
}

TEST(Turn, ProgramsWithMoreThanIdsCountAreRefused) {
  EXPECT_EQ(why_out_of_ids({.micro_batches = 1024, .operators = 65535, .devices = 65536}),
            std::nullopt);
  EXPECT_EQ(why_out_of_ids({.devices = 65537}),
            "the program has 65537 devices, but tasks are numbered for at most 65536");
  EXPECT_NE(why_out_of_ids({.operators = 65536}), std::nullopt);  // one place ends the slot
  EXPECT_EQ(why_out_of_ids({.phases = 65536, .values = 65536}), std::nullopt);
  EXPECT_NE(why_out_of_ids({.phases = 65537}), std::nullopt);
  EXPECT_NE(why_out_of_ids({.values = 65537}), std::nullopt);
}

TEST(RankRange, EndsBeforeTheNextOne) {
  constexpr RankRange kRange{0x100, 0x200, "sums"};
  EXPECT_EQ(rank_in(kRange, 0), 0x100u);
  EXPECT_EQ(rank_in(kRange, 0xff), 0x1ffu);
  EXPECT_THAT([&] { rank_in(kRange, 0x100); },
              ThrowsMessage<OutOfIds>(HasSubstr("more sums than turns can count")));
  EXPECT_THROW(rank_in(kRange, std::uint64_t{1} << 32), OutOfIds);
}

}  // namespace
}  // namespace troika
