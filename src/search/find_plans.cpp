#include "search/find_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "search/move_estimate.h"
#include "search/split_programming.h"
#include "strategy/ready.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

/// Fixed, so that results do not depend on the number of threads.
constexpr std::size_t kChains = 8;
/// Chains begin at different plans, and once more at the best one that any of them has found.
constexpr int kRounds = 3;
/// Temperatures, as parts of the median difference of a move.
constexpr std::array<double, 4> kHeats{0.05, 0.2, 0.01, 0.6};
/// The best plan of the chains is improved operator by operator if its menus have no more even
/// splits than this together, and not more often than this.
constexpr std::size_t kMostChoices = 2000;
constexpr int kMostDescents = 4;
/// Shares of gradient sums that dynamic programming takes to be exposed.
constexpr std::array<double, 3> kExposed{1, 0.3, 0};

class PlanSearch {
 public:
  PlanSearch(const LowerRequest& request, const ScoringKernels& kernels,
             const PlanSearchOptions& options)
      : request_(request),
        kernels_(kernels),
        options_(options),
        begin_(Clock::now()),
        index_(*request.graph),
        menus_(index_, *request.machine, options.space.value_or(search_menus(index_, request))),
        moves_(index_, menus_) {}

  std::variant<FoundPlans, NoPlan> run() {
    made_.log10_size = menus_.log10_size();
    plant_ready();
    bool searches = options_.proposals > 0 || options_.seconds;
    if (searches) plant_programmed();
    if (made_.plans.empty()) return NoPlan{why_none_};
    bool has_choice = searches && menus_.log10_size() > 0;
    if (has_choice && !is_over())
      typical_difference_ = typical_difference(plan_of_chain(0, made_.plans.front().strategy).plan,
                                               moves_, options_.seed);
    for (int round = 0; has_choice && round < kRounds && !is_over(); ++round) run_round(round);
    if (has_choice && options_.tries_all && !is_stopped()) try_all();
    finish_best();
    made_.was_stopped = is_stopped();
    return std::move(made_);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_stopped() const { return options_.stop_requested && options_.stop_requested(); }
  bool is_over() const {
    return is_stopped() || (options_.seconds && seconds() >= *options_.seconds);
  }

  // Seeds.
  void plant_ready() {
    for (const NamedStrategy& first : options_.first)
      plant(first.name, [&] { return first.strategy; });
  }

  void plant_programmed() {
    if (is_large(*request_.machine)) return;
    TileCosts costs(index_, request_, kernels_);
    if (has_equal_devices(*request_.machine)) made_.bounds = find_bounds(menus_, costs);
    if (request_.machine->devices.size() < 2) return;
    LinkCosts links = links_of(request_);
    MoveEstimates moves(index_, *request_.machine, links);
    for (double exposed : kExposed) {
      if (is_over()) return;
      plant(fmt::format("dynamic programming, {} % of sums exposed", exposed * 100),
            [&] { return program_splits(menus_, costs, moves, exposed); });
    }
  }

  template <class Make>
  void plant(std::string name, const Make& make) {
    SearchSeed seed{.name = name};
    double from = seconds();
    Strategy strategy = *request_.strategy;
    strategy.splits = make().splits;
    for (auto& [op, split] : strategy.splits) split = normalised(std::move(split));
    LowerRequest own = request_;
    own.strategy = &strategy;
    SearchedPlan plan(own, kernels_);
    if (std::optional<std::string> reason = plan.start()) {
      seed.why_not = std::move(*reason);
    } else if (std::optional<MemoryLack> lack = plan.find_lack()) {
      seed.why_not = fmt::format("device {} would need {}, but has {}", lack->device.value,
                                 to_string(lack->needed), to_string(lack->available));
    } else {
      seed.period = plan.period();
      add({.origin = std::move(name), .strategy = std::move(strategy), .period = plan.period()});
    }
    if (why_none_.empty()) why_none_ = seed.why_not;
    seed.seconds = seconds() - from;
    made_.seeds.push_back(std::move(seed));
  }

  /// Keeps plans of equal periods and splits once.
  void add(FoundPlan plan) {
    auto is_same = [&](const FoundPlan& known) {
      return known.period == plan.period && known.strategy.splits == plan.strategy.splits;
    };
    if (std::ranges::any_of(made_.plans, is_same)) return;
    auto behind = std::ranges::upper_bound(made_.plans, plan.period, {}, &FoundPlan::period);
    made_.plans.insert(behind, std::move(plan));
    std::size_t most = std::max(options_.kept, kChains);
    if (made_.plans.size() > most) made_.plans.resize(most);
  }

  // Chains.
  void run_round(int round) {
    if (options_.seconds)
      round_end_ = seconds() + (*options_.seconds - seconds()) / (kRounds - round);
    std::vector<std::optional<ChainResult>> results(kChains);
    std::vector<Strategy> first;
    for (std::size_t chain = 0; chain < kChains; ++chain)
      first.push_back(
          made_.plans[round == 0 ? chain % made_.plans.size() : chain % 2 % made_.plans.size()]
              .strategy);
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    Mutex mutex;
    auto work = [&] {
      try {
        for (std::size_t chain = next++; chain < kChains; chain = next++)
          results[chain] = run_one(round, chain, first[chain]);
      } catch (...) {
        Lock lock(mutex);
        failure = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int thread = 1; thread < options_.threads; ++thread) threads.emplace_back(work);
      work();
    }
    if (failure) std::rethrow_exception(failure);
    for (std::optional<ChainResult>& result : results) take(*result);
  }

  /// A chain's plan, which goes on to be changed in later rounds: it keeps what it has computed.
  struct ChainPlan {
    ChainPlan(const LowerRequest& searched, Strategy begin, const ScoringKernels& kernels)
        : first(std::move(begin)), request(with(searched, first)), plan(request, kernels) {}
    static LowerRequest with(LowerRequest request, const Strategy& strategy) {
      request.strategy = &strategy;
      return request;
    }

    const Strategy first;
    const LowerRequest request;
    SearchedPlan plan;
  };

  ChainPlan& plan_of_chain(std::size_t number, const Strategy& first) {
    std::unique_ptr<ChainPlan>& own = chains_[number];
    if (own) {
      TROIKA_CHECK(own->plan.change_to(first), "a plan that was feasible before");
      return *own;
    }
    own = std::make_unique<ChainPlan>(request_, first, kernels_);
    TROIKA_CHECK(!own->plan.start(), "a plan that was feasible before");
    return *own;
  }

  ChainResult run_one(int round, std::size_t number, const Strategy& first) {
    ChainPlan& own = plan_of_chain(number, first);
    ChainOptions options{.seed = options_.seed,
                         .number = static_cast<std::uint64_t>(round) * kChains + number,
                         .proposals = proposals_of_chain(),
                         .heat = kHeats[number % kHeats.size()],
                         .typical_difference = typical_difference_,
                         .kept = 2};
    double from = seconds(), until = end_of_chain(number);
    return run_chain(own.plan, moves_, options, [&](SimTime best) {
      tell(best);
      if (is_stopped()) return 1.0;
      return options_.seconds ? (seconds() - from) / std::max(1e-3, until - from) : 0.0;
    });
  }

  std::int64_t proposals_of_chain() const {
    if (options_.seconds) return std::int64_t{1} << 40;
    return std::max<std::int64_t>(
        1, options_.proposals / (kRounds * static_cast<std::int64_t>(kChains)));
  }

  /// Chains that share a thread run one after the other, and share what is left of the round.
  double end_of_chain(std::size_t number) const {
    if (!options_.seconds) return 0;
    std::size_t threads = as_index(options_.threads);
    auto turns = static_cast<double>((kChains - number + threads - 1) / threads);
    double now = seconds();
    return now + (round_end_ - now) / turns;
  }

  void tell(SimTime best) {
    std::int64_t proposed = ++proposed_;
    if (!options_.report) return;
    Lock lock(mutex_);
    if (best_.count == 0 || best < best_) best_ = best;
    SearchStatus status{.proposed = proposed,
                        .wanted = options_.seconds ? 0 : options_.proposals,
                        .seconds = seconds(),
                        .best = best_};
    if (const SearchSeed* data = made_.seed("data")) status.data_parallel = data->period;
    if (options_.seconds) status.left = std::max(0.0, *options_.seconds - status.seconds);
    options_.report(status);
  }

  void take(ChainResult& result) {
    made_.proposed += result.proposed;
    for (std::size_t kind = 0; kind < kSplitMoveKinds; ++kind) {
      made_.moves[kind].proposed += result.moves[kind].proposed;
      made_.moves[kind].feasible += result.moves[kind].feasible;
      made_.moves[kind].accepted += result.moves[kind].accepted;
      made_.moves[kind].too_long += result.moves[kind].too_long;
    }
    for (ScoredStrategy& best : result.best)
      add({.origin = "search", .strategy = std::move(best.strategy), .period = best.period});
  }

  /// Takes as long as the chains at most, if these have a limit of time.
  void try_all() {
    if (!made_.bounds) return;
    double until = options_.seconds ? seconds() + *options_.seconds : 0;
    const FoundPlan& best = made_.plans.front();
    auto result = search_exhaustively(
        {.request = request_,
         .kernels = kernels_,
         .menus = menus_,
         .first = {best.strategy, best.period},
         .stop_requested = [&] { return is_stopped() || (until > 0 && seconds() >= until); },
         .report = [&](const Certificate& known) { tell(known.best.period); }});
    if (auto* proof = std::get_if<Certificate>(&result)) {
      if (proof->best.period < best.period)
        add({.origin = "search", .strategy = proof->best.strategy, .period = proof->best.period});
      made_.proof = std::move(*proof);
    } else {
      made_.unproved = std::get<std::int64_t>(result);
    }
  }

  /// Brings the best plan to a local optimum and makes it easier to read.
  void finish_best() {
    if (made_.plans.front().origin != "search") return;
    FoundPlan best = made_.plans.front();
    LowerRequest own = request_;
    own.strategy = &made_.plans.front().strategy;
    SearchedPlan plan(own, kernels_);
    TROIKA_CHECK(!plan.start(), "a plan that was feasible before");
    descend(plan);
    simplify(plan);
    best.strategy = plan.strategy();
    best.period = plan.period();
    made_.plans.front() = std::move(best);
  }

  /// Keeps the change if the step stays as short as this.
  static bool keeps(SearchedPlan& plan, const SplitChange& change, SimTime longest) {
    if (plan.try_change({&change, 1}, longest) != TriedChange::done) return false;
    if (plan.period() <= longest && !plan.find_lack()) return true;
    plan.undo();
    return false;
  }

  /// Gives one operator after the other the even split that makes the step shortest, until none
  /// does, if that does not take too many plans.
  void descend(SearchedPlan& plan) {
    std::size_t choices = 0;
    for (std::size_t op = 0; op < menus_.count(); ++op) choices += menus_.even(op).size();
    for (int pass = 0; pass < kMostDescents && choices <= kMostChoices; ++pass) {
      SimTime before = plan.period();
      for (std::size_t op = 0; op < menus_.count(); ++op) {
        if (menus_.of(op).size() < 2 || (options_.seconds && is_over())) continue;
        for (std::size_t place : menus_.even(op)) {
          const Split& split = menus_.of(op)[place];
          const Split& now = split_of(plan.strategy(), index_.graph.operators[op].name);
          if (split.chunks == now.chunks && split != now)
            keeps(plan, {static_cast<std::int32_t>(op), split}, plan.period() - SimTime{1});
        }
      }
      if (plan.period() == before) return;
    }
  }

  /// Gives operators the splits of data parallelism where the step stays as short: chains leave
  /// splits behind that make no difference.
  void simplify(SearchedPlan& plan) {
    Strategy data = data_parallel(*request_.graph, *request_.machine);
    for (std::size_t op = 0; op < index_.graph.operators.size(); ++op) {
      const std::string& name = index_.graph.operators[op].name;
      if (options_.seconds && is_over()) return;
      Split wanted = normalised(split_of(data, name));
      if (normalised(split_of(plan.strategy(), name)) != wanted)
        keeps(plan, {static_cast<std::int32_t>(op), wanted}, plan.period());
    }
  }

  const LowerRequest& request_;
  const ScoringKernels& kernels_;
  const PlanSearchOptions& options_;
  const Clock::time_point begin_;
  IndexedGraph index_;
  SplitMenus menus_;
  SplitMoves moves_;
  std::array<std::unique_ptr<ChainPlan>, kChains> chains_;
  FoundPlans made_;
  std::string why_none_;
  SimTime typical_difference_{};
  std::atomic<std::int64_t> proposed_ = 0;
  double round_end_ = 0;  // seconds
  Mutex mutex_;
  SimTime best_ TROIKA_GUARDED_BY(mutex_){};
};

}  // namespace

const SearchSeed* FoundPlans::seed(std::string_view name) const {
  auto found = std::ranges::find(seeds, name, &SearchSeed::name);
  return found == seeds.end() ? nullptr : &*found;
}

std::variant<FoundPlans, NoPlan> find_plans(const LowerRequest& request,
                                            const ScoringKernels& kernels,
                                            const PlanSearchOptions& options) {
  return PlanSearch(request, kernels, options).run();
}

}  // namespace troika
