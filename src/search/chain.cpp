#include "search/chain.h"

#include <algorithm>
#include <cmath>

namespace troika {
namespace {

/// Moves that are tried and taken back to find out which differences moves make.
constexpr int kPilotMoves = 24;
constexpr int kDraws = 16;
/// From this part of the proposals, or of the time, on nothing worse is accepted.
constexpr double kGreedyFrom = 0.8;
/// Without a better plan for this part of the proposals the chain goes back to its best one, 1 / 6,
/// but after so many in any case.
constexpr std::int64_t kPatiencePart = 6;
constexpr std::int64_t kLeastPatience = 50, kMostPatience = 400;

/// Draws again where a move changes nothing, such as one like a neighbour that is alike.
SplitMove draw_move(const SearchedPlan& plan, const SplitMoves& moves, SearchDraws& draws) {
  SplitMove move = moves.draw(plan.strategy(), draws);
  for (int attempt = 1; attempt < kDraws && move.changes.empty(); ++attempt)
    move = moves.draw(plan.strategy(), draws);
  return move;
}

class Chain {
 public:
  Chain(SearchedPlan& plan, const SplitMoves& moves, const ChainOptions& options)
      : plan_(plan),
        moves_(moves),
        options_(options),
        draws_(options.seed, options.number + 1),
        temperature_(options.heat * static_cast<double>(options.typical_difference.count)) {
    keep();
  }

  ChainResult run(const ChainProgress& progress) {
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
  /// The longest period that is accepted this time: Metropolis' rule, solved for the period.
  SimTime longest_accepted() {
    double drawn = draws_.uniform();  // always, so that later draws do not depend on it
    SimTime longest = plan_.period();
    if (done_ >= kGreedyFrom || temperature_ <= 0) return longest;
    double worse = -temperature_ * std::log(std::max(drawn, 1e-12));
    return longest + SimTime{static_cast<std::int64_t>(worse)};
  }

  void propose() {
    SplitMove move = draw_move(plan_, moves_, draws_);
    MoveCount& count = result_.moves[static_cast<std::size_t>(move.kind)];
    ++count.proposed;
    if (move.changes.empty()) return;
    SimTime longest = longest_accepted();
    TriedChange tried = plan_.try_change(move.changes, longest);
    if (tried == TriedChange::infeasible) return;
    ++count.feasible;
    if (tried == TriedChange::too_long) {
      ++count.too_long;
      return;
    }
    if (plan_.period() > longest || plan_.find_lack()) return plan_.undo();
    ++count.accepted;
    if (plan_.period() < result_.best.front().period) keep();
  }

  void keep() {
    result_.best.insert(result_.best.begin(), {plan_.strategy(), plan_.period()});
    if (result_.best.size() > options_.kept) result_.best.pop_back();
  }

  SearchedPlan& plan_;
  const SplitMoves& moves_;
  const ChainOptions& options_;
  SearchDraws draws_;
  const double temperature_;
  double done_ = 0;  // part of the proposals, or of the time
  ChainResult result_;
};

}  // namespace

SimTime typical_difference(SearchedPlan& plan, const SplitMoves& moves, std::uint64_t seed) {
  SearchDraws draws(seed, 0);
  std::vector<SimTime> differences;
  SimTime first = plan.period();
  for (int at = 0; at < kPilotMoves; ++at) {
    SplitMove move = draw_move(plan, moves, draws);
    if (move.changes.empty() || !plan.change(move.changes)) continue;
    if (plan.period() != first) differences.push_back({std::abs((plan.period() - first).count)});
    plan.undo();
  }
  if (differences.empty()) return {};
  std::ranges::sort(differences);
  return differences[differences.size() / 2];
}

ChainResult run_chain(SearchedPlan& plan, const SplitMoves& moves, const ChainOptions& options,
                      const ChainProgress& progress) {
  return Chain(plan, moves, options).run(progress);
}

}  // namespace troika
