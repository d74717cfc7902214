#include "sim/server.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika {

void Server::add(const Request& request, RequestOwner owner) {
  Service service{request, {owner}};
  auto at = std::ranges::lower_bound(waiting_, service.key(), {}, &Service::key);
  if (at == waiting_.end() || at->key() != service.key()) {
    waiting_.insert(at, std::move(service));
    return;
  }
  at->request.time += request.time;
  at->owners.push_back(owner);
}

std::optional<SimTime> Server::serve(SimTime now) {
  if (!current_) {
    if (waiting_.empty()) return std::nullopt;
    current_ = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    began_ = now;
    return end();
  }
  if (waiting_.empty() || !waiting_.front().is_before(*current_)) return end();
  SimTime overtakes = border(now);
  if (overtakes >= end()) return end();
  if (overtakes > now) return overtakes;
  (void)stop(now);
  return serve(now);
}

std::vector<RequestOwner> Server::end_service(SimTime now) {
  TROIKA_CHECK(current_ && now <= end(), "a server that is asked too late");
  if (now < end()) return {};
  std::vector<RequestOwner> owners = std::move(current_->owners);
  current_.reset();
  return owners;
}

SimTime Server::border(SimTime now) const {
  if (!current_ || chunk_.count == 0) return now;
  std::int64_t chunks = ((now - began_).count + chunk_.count - 1) / chunk_.count;
  return std::min(began_ + chunk_ * chunks, end());
}

std::vector<RequestOwner> Server::stop(SimTime at) {
  if (!current_) return {};
  if (at == end()) return end_service(at);
  current_->request.time = end() - at;
  auto place = std::ranges::lower_bound(waiting_, current_->key(), {}, &Service::key);
  waiting_.insert(place, std::move(*current_));
  current_.reset();
  return {};
}

SimTime Server::serve_for(SimTime budget, SimTime now, std::vector<Ended>& ended) {
  SimTime until = now + budget;
  while (now < until && !waiting_.empty()) {
    (void)serve(now);
    now = std::min(end(), border(until));
    for (RequestOwner owner : stop(now)) ended.push_back({owner, now});
  }
  return now;
}

}  // namespace troika
