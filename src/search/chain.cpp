#include "search/chain.h"

#include <algorithm>
#include <cmath>

namespace troika {
namespace {

/// Moves that are tried and taken back to find out which differences moves make.
constexpr int kPilotMoves = 24;
/// From this part of the proposals, or of the time, on nothing worse is accepted.
constexpr double kGreedyFrom = 0.8;
/// Without a better plan for this part of the proposals the chain goes back to its best one, 1 / 6,
/// but after so many in any case.
constexpr std::int64_t kPatiencePart = 6;
constexpr std::int64_t kLeastPatience = 50, kMostPatience = 400;

class Chain {
 public:
  Chain(SearchedPlan& plan, const SplitMoves& moves, const ChainOptions& options)
      : plan_(plan), moves_(moves), options_(options), draws_(options.seed, options.number + 1) {
    keep();
  }

  ChainResult run(const ChainProgress& progress) {
    find_temperature();
    std::int64_t patience =
        std::clamp(options_.proposals / kPatiencePart, kLeastPatience, kMostPatience);
    std::int64_t since_best = 0;
    for (; result_.proposed < options_.proposals; ++result_.proposed) {
      SimTime before = result_.best.front().period;
      propose();
      since_best = result_.best.front().period < before ? 0 : since_best + 1;
      if (since_best > patience) {
        since_best = 0;
        // Everything was feasible once; what the table lacks is only added.
        if (!plan_.change_to(result_.best.front().strategy)) break;
      }
      double by_count =
          static_cast<double>(result_.proposed) / static_cast<double>(options_.proposals);
      double by_time = progress(result_.best.front().period);
      if (by_time >= 1) break;
      done_ = std::max(by_count, by_time);
    }
    return std::move(result_);
  }

 private:
  void find_temperature() {
    if (options_.typical_difference) {
      result_.typical_difference = *options_.typical_difference;
      temperature_ = options_.heat * static_cast<double>(result_.typical_difference.count);
      return;
    }
    std::vector<double> differences;
    SimTime first = plan_.period();
    for (int at = 0; at < kPilotMoves; ++at) {
      SplitMove move = moves_.draw(plan_.strategy(), draws_);
      if (move.changes.empty()) continue;
      std::optional<SimTime> period = plan_.change(move.changes);
      if (!period) continue;
      plan_.undo();
      if (*period != first)
        differences.push_back(std::abs(static_cast<double>((*period - first).count)));
    }
    if (differences.empty()) return;
    std::ranges::sort(differences);
    double median = differences[differences.size() / 2];
    result_.typical_difference = SimTime{std::llround(median)};
    temperature_ = options_.heat * median;
  }

  bool is_accepted(SimTime before, SimTime after) {
    double worse = static_cast<double>((after - before).count);
    double drawn = draws_.uniform();  // always, so that later draws do not depend on it
    if (worse <= 0) return true;
    return done_ < kGreedyFrom && temperature_ > 0 && drawn < std::exp(-worse / temperature_);
  }

  void propose() {
    SplitMove move = moves_.draw(plan_.strategy(), draws_);
    MoveCount& count = result_.moves[static_cast<std::size_t>(move.kind)];
    ++count.proposed;
    if (move.changes.empty()) return;
    SimTime before = plan_.period();
    std::optional<SimTime> after = plan_.change(move.changes);
    if (!after) return;
    ++count.feasible;
    if (!is_accepted(before, *after) || plan_.find_lack()) return plan_.undo();
    ++count.accepted;
    if (*after < result_.best.front().period) keep();
  }

  void keep() {
    result_.best.insert(result_.best.begin(), {plan_.strategy(), plan_.period()});
    if (result_.best.size() > options_.kept) result_.best.pop_back();
  }

  SearchedPlan& plan_;
  const SplitMoves& moves_;
  const ChainOptions& options_;
  SearchDraws draws_;
  double temperature_ = 0;
  double done_ = 0;  // part of the proposals, or of the time
  ChainResult result_;
};

}  // namespace

ChainResult run_chain(SearchedPlan& plan, const SplitMoves& moves, const ChainOptions& options,
                      const ChainProgress& progress) {
  return Chain(plan, moves, options).run(progress);
}

}  // namespace troika
