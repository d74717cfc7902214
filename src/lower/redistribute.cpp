#include "lower/redistribute.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "lower/find_all_to_all.h"

namespace troika {
namespace {

/// The pieces of a term in the order in which they are asked: the device's own first, then by what
/// they have of the need.
std::vector<std::size_t> preference(const std::vector<Placed>& pieces, const Placed& need) {
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!intersect(pieces[at].region, need.region).empty()) order.push_back(at);
  }
  auto rank = [&](std::size_t at) {
    std::int64_t shared = intersect(pieces[at].region, need.region).elements();
    return std::pair(pieces[at].device != need.device, -shared);
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

void take_term(const std::vector<Placed>& pieces, std::size_t term, const Placed& need,
               Assembly& assembly) {
  std::vector<Region> missing{need.region};
  for (std::size_t at : preference(pieces, need)) {
    std::vector<Region> left;
    for (const Region& box : missing) {
      Region shared = intersect(box, pieces[at].region);
      if (!shared.empty()) assembly.push_back({term, at, shared});
      std::ranges::move(subtract(box, pieces[at].region), std::back_inserter(left));
    }
    missing = std::move(left);
  }
}

/// Regions in an order that does not depend on pointers.
struct ByBounds {
  bool operator()(const Region& a, const Region& b) const {
    return std::ranges::lexicographical_compare(
        a.ranges, b.ranges, {}, [](Range r) { return std::pair(r.begin, r.end); },
        [](Range r) { return std::pair(r.begin, r.end); });
  }
};

/// Whether the regions do not overlap and together are just as large as `whole`, inside of it.
bool make_up(const std::vector<Placed>& pieces, const Region& whole) {
  std::int64_t elements = 0;
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!contains(whole, pieces[at].region)) return false;
    elements += pieces[at].region.elements();
    for (std::size_t other = 0; other < at; ++other)
      if (!intersect(pieces[at].region, pieces[other].region).empty()) return false;
  }
  return elements == whole.elements();
}

class ExchangeFinder {
 public:
  ExchangeFinder(const Spread& have, const std::vector<Placed>& needs)
      : have_(have), needs_(needs) {
    for (std::size_t at = 0; at < needs.size(); ++at) by_region_[needs[at].region].push_back(at);
  }

  std::vector<Exchange> find() {
    if (have_.terms.size() > 1)
      find_reductions();
    else if (have_.terms.size() == 1)
      find_gathers();
    if (have_.terms.size() == 1 && found_.empty())
      found_ = find_all_to_alls(have_.terms[0], needs_);
    return std::move(found_);
  }

 private:
  using Holders = std::map<DeviceId, Taken>;

  /// Regions of which every term has just one piece, each on a device of its own.
  std::map<Region, Holders, ByBounds> reducible() const {
    std::map<Region, Holders, ByBounds> regions;
    for (std::size_t term = 0; term < have_.terms.size(); ++term) {
      for (std::size_t at = 0; at < have_.terms[term].size(); ++at) {
        const Placed& piece = have_.terms[term][at];
        regions[piece.region].try_emplace(piece.device, Taken{term, at, piece.region});
      }
    }
    std::erase_if(regions, [&](const auto& entry) {
      std::set<std::size_t> terms;
      for (const auto& [device, taken] : entry.second) terms.insert(taken.term);
      return terms.size() != have_.terms.size() || entry.second.size() != terms.size() ||
             !is_alone(entry.first);
    });
    return regions;
  }

  /// No other piece holds elements of this region.
  bool is_alone(const Region& region) const {
    for (const std::vector<Placed>& pieces : have_.terms) {
      auto overlaps = [&](const Placed& piece) { return !intersect(piece.region, region).empty(); };
      if (std::ranges::count_if(pieces, overlaps) != 1) return false;
    }
    return true;
  }

  void find_reductions() {
    for (const auto& [region, holders] : reducible()) {
      if (auto same = by_region_.find(region); same != by_region_.end())
        add(Exchange::Kind::all_reduce, region, holders, same->second);
      else
        add_scatter(region, holders);
    }
  }

  void add_scatter(const Region& region, const Holders& holders) {
    std::vector<std::size_t> parts;
    std::vector<Placed> pieces;
    for (std::size_t at = 0; at < needs_.size(); ++at) {
      if (intersect(needs_[at].region, region).empty()) continue;
      parts.push_back(at);
      pieces.push_back(needs_[at]);
    }
    if (make_up(pieces, region)) add(Exchange::Kind::reduce_scatter, region, holders, parts);
  }

  /// The largest first: what a device gets by one it does not get again by another.
  void find_gathers() {
    const std::vector<Placed>& pieces = have_.terms[0];
    using Needed = std::pair<Region, std::vector<std::size_t>>;
    std::vector<Needed> largest(by_region_.begin(), by_region_.end());
    std::ranges::stable_sort(largest, std::greater{},
                             [](const Needed& needed) { return needed.first.elements(); });
    for (const auto& [region, readers] : largest) {
      if (is_gathered_in_part(region, readers)) continue;
      std::vector<Placed> parts;
      Holders holders;
      for (std::size_t at = 0; at < pieces.size(); ++at) {
        if (intersect(pieces[at].region, region).empty()) continue;
        parts.push_back(pieces[at]);
        holders.try_emplace(pieces[at].device, Taken{0, at, pieces[at].region});
      }
      if (parts.size() > 1 && make_up(parts, region) && holders.size() == parts.size())
        add(Exchange::Kind::all_gather, region, holders, readers);
    }
  }

  bool is_gathered_in_part(const Region& region, const std::vector<std::size_t>& readers) const {
    auto reaches = [&](const Exchange& exchange, std::size_t reader) {
      return std::ranges::any_of(exchange.needs, [&](std::size_t need) {
        return needs_[need].device == needs_[reader].device;
      });
    };
    return std::ranges::any_of(found_, [&](const Exchange& exchange) {
      return !intersect(exchange.region, region).empty() &&
             std::ranges::any_of(readers, [&](std::size_t at) { return reaches(exchange, at); });
    });
  }

  /// Only if just the holders are the ones in need, each once.
  void add(Exchange::Kind kind, const Region& region, const Holders& holders,
           const std::vector<std::size_t>& readers) {
    std::map<DeviceId, std::size_t> reader_on;
    for (std::size_t need : readers) reader_on.try_emplace(needs_[need].device, need);
    bool once = reader_on.size() == readers.size() && reader_on.size() == holders.size();
    bool same = std::ranges::all_of(
        holders, [&](const auto& holder) { return reader_on.contains(holder.first); });
    if (!once || !same || holders.size() < 2) return;
    Exchange exchange{.kind = kind, .region = region};
    for (const auto& [device, taken] : holders) {
      exchange.pieces.push_back(taken);
      exchange.needs.push_back(reader_on.at(device));
    }
    found_.push_back(std::move(exchange));
  }

  const Spread& have_;
  const std::vector<Placed>& needs_;
  std::map<Region, std::vector<std::size_t>, ByBounds> by_region_;
  std::vector<Exchange> found_;
};

}  // namespace

std::vector<Assembly> assemble(const Spread& have, const std::vector<Placed>& needs) {
  std::vector<Assembly> assemblies;
  for (const Placed& need : needs) {
    Assembly& assembly = assemblies.emplace_back();
    for (std::size_t term = 0; term < have.terms.size(); ++term)
      take_term(have.terms[term], term, need, assembly);
  }
  return assemblies;
}

bool is_in_place(const Spread& have, const Placed& need, const Assembly& assembly) {
  if (assembly.size() != 1) return false;
  const Taken& only = assembly[0];
  const Placed& piece = have.terms[only.term][only.piece];
  return piece == need && only.region == need.region;
}

std::vector<Exchange> find_exchanges(const Spread& have, const std::vector<Placed>& needs) {
  return ExchangeFinder(have, needs).find();
}

}  // namespace troika
