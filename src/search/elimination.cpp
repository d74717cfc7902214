#include "search/elimination.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace troika {
namespace {

using Table = std::vector<double>;

class Elimination {
 public:
  explicit Elimination(const ChoiceProblem& problem)
      : cost_(problem.cost),
        pairs_(problem.cost.size()),
        chosen_{.option = std::vector<std::size_t>(problem.cost.size())} {
    for (std::size_t at = 0; at < cost_.size(); ++at) left_.insert(at);
    for (const PairCosts& pair : problem.pairs) {
      if (pair.one != pair.two) {
        add(pair.one, pair.two, pair.cost);
        continue;
      }
      for (std::size_t a = 0; a < options(pair.one); ++a)
        cost_[pair.one][a] += pair.cost[a * options(pair.one) + a];
    }
  }

  ChosenOptions run() {
    while (!left_.empty()) {
      std::size_t next =
          *std::ranges::min_element(left_, {}, [&](std::size_t at) { return pairs_[at].size(); });
      if (pairs_[next].size() > 2)
        guess(*std::ranges::max_element(left_, {},
                                        [&](std::size_t at) { return pairs_[at].size(); }));
      else
        eliminate(next);
    }
    for (std::size_t at = steps_.size(); at-- > 0;) choose(steps_[at]);
    return std::move(chosen_);
  }

 private:
  /// A choice whose best option is known for all options of its neighbours.
  struct Step {
    std::size_t choice;
    std::vector<std::size_t> neighbours;  // at most two
    std::vector<std::size_t> best;        // by the option of the first, then of the second
  };

  std::size_t options(std::size_t choice) const { return cost_[choice].size(); }

  /// Tables are kept in both directions, so that neither end has to look at the other.
  void add(std::size_t one, std::size_t two, const Table& table) {
    Table& forward = pairs_[one][two];
    Table& backward = pairs_[two][one];
    forward.resize(options(one) * options(two));
    backward.resize(forward.size());
    for (std::size_t a = 0; a < options(one); ++a) {
      for (std::size_t b = 0; b < options(two); ++b) {
        forward[a * options(two) + b] += table[a * options(two) + b];
        backward[b * options(one) + a] += table[a * options(two) + b];
      }
    }
  }

  void remove(std::size_t choice) {
    for (const auto& [other, table] : pairs_[choice]) pairs_[other].erase(choice);
    pairs_[choice].clear();
    left_.erase(choice);
  }

  void eliminate(std::size_t choice) {
    Step step{choice, {}, {}};
    std::vector<const Table*> tables;
    for (const auto& [other, table] : pairs_[choice]) {
      step.neighbours.push_back(other);
      tables.push_back(&table);
    }
    std::size_t first = step.neighbours.empty() ? 1 : options(step.neighbours[0]);
    std::size_t second = step.neighbours.size() < 2 ? 1 : options(step.neighbours[1]);
    Table least(first * second, std::numeric_limits<double>::infinity());
    step.best.resize(first * second);
    for (std::size_t own = 0; own < options(choice); ++own) {
      for (std::size_t a = 0; a < first; ++a) {
        double with_a = cost_[choice][own] + (tables.empty() ? 0 : (*tables[0])[own * first + a]);
        for (std::size_t b = 0; b < second; ++b) {
          double all = with_a + (tables.size() < 2 ? 0 : (*tables[1])[own * second + b]);
          if (all >= least[a * second + b]) continue;
          least[a * second + b] = all;
          step.best[a * second + b] = own;
        }
      }
    }
    remove(choice);
    if (step.neighbours.empty()) chosen_.cost += least.front();
    if (step.neighbours.size() == 1)
      for (std::size_t a = 0; a < first; ++a) cost_[step.neighbours[0]][a] += least[a];
    if (step.neighbours.size() == 2) add(step.neighbours[0], step.neighbours[1], least);
    steps_.push_back(std::move(step));
  }

  /// The option with the least cost if all neighbours suit it.
  void guess(std::size_t choice) {
    ++chosen_.guessed;
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t own = 0; own < options(choice); ++own) {
      double all = cost_[choice][own];
      for (const auto& [other, table] : pairs_[choice]) {
        auto begin = table.begin() + static_cast<std::ptrdiff_t>(own * options(other));
        double suited = std::numeric_limits<double>::infinity();
        for (std::size_t b = 0; b < options(other); ++b)
          suited = std::min(suited, begin[static_cast<std::ptrdiff_t>(b)] + cost_[other][b]);
        all += suited;
      }
      if (all < least) least = all, best = own;
    }
    chosen_.cost += cost_[choice][best];
    for (const auto& [other, table] : pairs_[choice])
      for (std::size_t b = 0; b < options(other); ++b)
        cost_[other][b] += table[best * options(other) + b];
    remove(choice);
    steps_.push_back({choice, {}, {best}});
  }

  void choose(const Step& step) {
    std::size_t a = step.neighbours.empty() ? 0 : chosen_.option[step.neighbours[0]];
    std::size_t b = step.neighbours.size() < 2 ? 0 : chosen_.option[step.neighbours[1]];
    std::size_t second = step.neighbours.size() < 2 ? 1 : options(step.neighbours[1]);
    chosen_.option[step.choice] = step.best[a * second + b];
  }

  std::vector<Table> cost_;
  std::vector<std::map<std::size_t, Table>> pairs_;  // by choice and neighbour
  std::set<std::size_t> left_;
  std::vector<Step> steps_;
  ChosenOptions chosen_;
};

}  // namespace

ChosenOptions choose_options(const ChoiceProblem& problem) { return Elimination(problem).run(); }

}  // namespace troika
