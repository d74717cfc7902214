#include "data/glyph.h"

#include <array>

namespace troika::data {
namespace {

constexpr Point kZeroRound[] = {{.5, 0},    {.15, .14}, {0, .5},    {.15, .86}, {.5, 1},
                                {.85, .86}, {1, .5},    {.85, .14}, {.5, 0}};
constexpr Point kZeroOpen[] = {{.62, .03}, {.3, .04}, {.05, .4},  {.15, .85}, {.5, 1},
                               {.88, .8},  {.95, .4}, {.75, .08}, {.42, .0}};
constexpr Stroke kZeroA[] = {{true, kZeroRound}};
constexpr Stroke kZeroB[] = {{true, kZeroOpen}};
constexpr Glyph kZero[] = {{kZeroA}, {kZeroB}};

constexpr Point kOneStem[] = {{.5, 0}, {.5, 1}};
constexpr Point kOneFlag[] = {{.22, .24}, {.52, 0}, {.52, 1}};
constexpr Point kOneFoot[] = {{.2, 1}, {.82, 1}};
constexpr Stroke kOneA[] = {{false, kOneStem}};
constexpr Stroke kOneB[] = {{false, kOneFlag}};
constexpr Stroke kOneC[] = {{false, kOneFlag}, {false, kOneFoot}};
constexpr Glyph kOne[] = {{kOneA}, {kOneB}, {kOneC}};

constexpr Point kTwoHook[] = {{.05, .25}, {.2, .05}, {.55, 0}, {.9, .18},
                              {.85, .45}, {.5, .74}, {.05, 1}};
constexpr Point kTwoFoot[] = {{.05, 1}, {.98, 1}};
constexpr Point kTwoLoop[] = {{.05, .22}, {.25, .03}, {.6, 0},  {.88, .2}, {.78, .5}, {.45, .82},
                              {.15, 1},   {0, .88},   {.2, .8}, {.5, .92}, {.78, 1},  {1, .9}};
constexpr Stroke kTwoA[] = {{true, kTwoHook}, {false, kTwoFoot}};
constexpr Stroke kTwoB[] = {{true, kTwoLoop}};
constexpr Glyph kTwo[] = {{kTwoA}, {kTwoB}};

constexpr Point kThreeUpper[] = {{.05, .12}, {.4, 0}, {.82, .1}, {.82, .36}, {.38, .48}};
constexpr Point kThreeLower[] = {{.38, .48}, {.88, .58}, {.95, .84}, {.5, 1}, {.03, .88}};
constexpr Point kThreeRoof[] = {{.1, .02}, {.88, .02}, {.42, .4}};
constexpr Point kThreeBelly[] = {{.42, .4}, {.82, .48}, {.95, .74}, {.6, 1}, {.03, .9}};
constexpr Stroke kThreeA[] = {{true, kThreeUpper}, {true, kThreeLower}};
constexpr Stroke kThreeB[] = {{false, kThreeRoof}, {true, kThreeBelly}};
constexpr Glyph kThree[] = {{kThreeA}, {kThreeB}};

constexpr Point kFourArm[] = {{.25, .02}, {.05, .58}, {.98, .58}};
constexpr Point kFourStem[] = {{.76, .15}, {.7, 1}};
constexpr Point kFourClosed[] = {{.72, 1}, {.72, 0}, {0, .67}, {1, .67}};
constexpr Stroke kFourA[] = {{false, kFourArm}, {false, kFourStem}};
constexpr Stroke kFourB[] = {{false, kFourClosed}};
constexpr Glyph kFour[] = {{kFourA}, {kFourB}};

constexpr Point kFiveRoof[] = {{.92, 0}, {.2, 0}, {.13, .44}};
constexpr Point kFiveBelly[] = {{.13, .44}, {.5, .35}, {.9, .5}, {.92, .8}, {.5, 1}, {.03, .9}};
constexpr Point kFiveSlant[] = {{.2, .03}, {.17, .45}};
constexpr Point kFiveRound[] = {{.17, .45}, {.6, .42}, {.92, .64},
                                {.75, .93}, {.38, 1},  {.03, .95}};
constexpr Point kFiveHat[] = {{.2, .03}, {.95, 0}};
constexpr Stroke kFiveA[] = {{false, kFiveRoof}, {true, kFiveBelly}};
constexpr Stroke kFiveB[] = {{false, kFiveSlant}, {true, kFiveRound}, {false, kFiveHat}};
constexpr Glyph kFive[] = {{kFiveA}, {kFiveB}};

constexpr Point kSixRound[] = {{.8, .04},  {.42, .12}, {.1, .5},  {.1, .84}, {.45, 1},
                               {.86, .87}, {.86, .6},  {.5, .48}, {.12, .66}};
constexpr Point kSixSlim[] = {{.55, 0},   {.22, .35}, {.06, .72}, {.3, .98}, {.7, .95},
                              {.85, .74}, {.6, .56},  {.25, .62}, {.08, .78}};
constexpr Stroke kSixA[] = {{true, kSixRound}};
constexpr Stroke kSixB[] = {{true, kSixSlim}};
constexpr Glyph kSix[] = {{kSixA}, {kSixB}};

constexpr Point kSevenPlain[] = {{.02, .02}, {.98, .02}, {.4, 1}};
constexpr Point kSevenBar[] = {{.28, .5}, {.86, .5}};
constexpr Point kSevenHook[] = {{.04, .16}, {.06, .02}, {.96, .02}};
constexpr Point kSevenBend[] = {{.96, .02}, {.62, .45}, {.48, 1}};
constexpr Stroke kSevenA[] = {{false, kSevenPlain}};
constexpr Stroke kSevenB[] = {{false, kSevenPlain}, {false, kSevenBar}};
constexpr Stroke kSevenC[] = {{false, kSevenHook}, {true, kSevenBend}};
constexpr Glyph kSeven[] = {{kSevenA}, {kSevenB}, {kSevenC}};

constexpr Point kEightCrossed[] = {{.84, .14}, {.5, 0},    {.14, .14}, {.22, .36}, {.5, .48},
                                   {.84, .64}, {.88, .86}, {.5, 1},    {.12, .86}, {.16, .64},
                                   {.5, .48},  {.8, .34},  {.84, .14}};
constexpr Point kEightUpper[] = {{.5, 0},   {.2, .08}, {.16, .3}, {.5, .46},
                                 {.84, .3}, {.8, .08}, {.5, 0}};
constexpr Point kEightLower[] = {{.5, .46}, {.1, .6}, {.1, .88}, {.5, 1},
                                 {.9, .88}, {.9, .6}, {.5, .46}};
constexpr Stroke kEightA[] = {{true, kEightCrossed}};
constexpr Stroke kEightB[] = {{true, kEightUpper}, {true, kEightLower}};
constexpr Glyph kEight[] = {{kEightA}, {kEightB}};

constexpr Point kNineLoop[] = {{.86, .24}, {.6, .02},  {.2, .08}, {.07, .32},
                               {.3, .53},  {.66, .47}, {.86, .24}};
constexpr Point kNineStem[] = {{.88, .06}, {.84, .5}, {.72, 1}};
constexpr Point kNineTail[] = {{.86, .24}, {.9, .6}, {.72, .93}, {.38, 1}, {.1, .92}};
constexpr Stroke kNineA[] = {{true, kNineLoop}, {true, kNineStem}};
constexpr Stroke kNineB[] = {{true, kNineLoop}, {true, kNineTail}};
constexpr Glyph kNine[] = {{kNineA}, {kNineB}};

constexpr std::array<std::span<const Glyph>, 10> kGlyphs = {kZero, kOne, kTwo,   kThree, kFour,
                                                            kFive, kSix, kSeven, kEight, kNine};

}  // namespace

std::span<const Glyph> glyphs(int digit) { return kGlyphs[static_cast<std::size_t>(digit)]; }

}  // namespace troika::data
