// The definition of a flow simulation, written out as plainly as possible: every rate from scratch
// at every event, flows in one list. Tests only: the oracle of network/flow/random_test.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "flopcast/network/flows.h"

namespace flopcast::test {

__extension__ using Wide = __int128;
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

struct PlainFlow {
  std::vector<LinkUse> path;
  std::int64_t bytes = 0, start = 0, latency = 0, delay = 0, limit = 0;
  std::uint32_t group = 0;
  std::vector<FlowId> after;
  bool background = false;
  std::int64_t cancel = kForever;
};

struct PlainState {
  FlowPhase phase = FlowPhase::kWaiting;  ///< done: has sent all
  std::int64_t start = kForever, end = kForever;
  std::int64_t rate = 0;
  Wide left = 0;
};

class PlainSimulator {
 public:
  PlainSimulator(const std::vector<Rate>& capacities, const std::vector<PlainFlow>& flows)
      : capacities_(capacities), flows_(flows), states_(flows.size()) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      states_[i].left = Wide{1024} * 1'000'000'000'000 * flows[i].bytes;
    }
  }
  /// Everything that happens up to `until`.
  void run(std::int64_t until) {
    for (;;) {
      const std::int64_t next = next_time();
      if (next > until || next == kForever) break;
      progress(next);
      while (happen(next)) {
      }
      fill();
    }
    if (until != kForever) progress(until);
  }
  const std::vector<PlainState>& states() const { return states_; }
  std::int64_t completion(std::size_t i) const {
    return states_[i].phase == FlowPhase::kDone ? states_[i].end + flows_[i].latency : kForever;
  }
  /// Of all links, capped flows' own ones and groups' left out.
  std::int64_t used(LinkId link) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < flows_.size(); ++i) sum += weight(i, link) * states_[i].rate;
    return sum;
  }
  std::int64_t weight(std::size_t i, LinkId link) const {
    for (const LinkUse& use : flows_[i].path) {
      if (use.link == link) return use.weight;
    }
    return 0;
  }

 private:
  static constexpr std::uint32_t kWhole = 1U << 28;

  std::int64_t ready(std::size_t i) const {
    std::int64_t time = flows_[i].start;
    for (const FlowId before : flows_[i].after) {
      if (completion(before) == kForever) return kForever;
      time = std::max(time, completion(before) + flows_[i].delay);
    }
    return time;
  }
  std::int64_t end(std::size_t i) const {
    const PlainState& s = states_[i];
    if (flows_[i].background || s.rate == 0) return kForever;
    const Wide wait = (s.left + s.rate - 1) / s.rate;
    return wait < Wide{kForever} - now_ ? now_ + static_cast<std::int64_t>(wait) : kForever;
  }
  std::int64_t next_of(std::size_t i) const {
    switch (states_[i].phase) {
      case FlowPhase::kWaiting:
        return std::min(ready(i), flows_[i].cancel);
      case FlowPhase::kActive:
        return std::min(end(i), flows_[i].cancel);
      default:
        return kForever;
    }
  }
  std::int64_t next_time() const {
    std::int64_t next = kForever;
    for (std::size_t i = 0; i < flows_.size(); ++i) next = std::min(next, next_of(i));
    return next;
  }
  void progress(std::int64_t time) {
    for (PlainState& s : states_) s.left -= Wide{s.rate} * (time - now_);
    now_ = time;
  }
  bool happen(std::int64_t time) {
    bool any = false;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      PlainState& s = states_[i];
      if (s.phase == FlowPhase::kActive && !flows_[i].background && s.left <= 0) {
        finish(s, FlowPhase::kDone, time);
      } else if ((s.phase == FlowPhase::kActive || s.phase == FlowPhase::kWaiting) &&
                 flows_[i].cancel <= time) {
        finish(s, FlowPhase::kCancelled, time);
      } else if (s.phase == FlowPhase::kWaiting && ready(i) <= time) {
        s.start = time;
        s.phase = FlowPhase::kActive;
        const bool no_link = flows_[i].path.empty() && flows_[i].limit == 0;
        if (no_link || (s.left == 0 && !flows_[i].background)) finish(s, FlowPhase::kDone, time);
      } else {
        continue;
      }
      any = true;
    }
    return any;
  }
  static void finish(PlainState& s, FlowPhase phase, std::int64_t time) {
    s.phase = phase;
    if (phase == FlowPhase::kDone) s.left = 0;
    s.end = time;
    s.rate = 0;
  }

  struct FillLink {
    Wide avail = 0, weight = 0;
  };
  Wide fraction(std::size_t i) const {
    if (flows_[i].group == 0) return kWhole;
    Wide n = 0;
    for (std::size_t j = 0; j < flows_.size(); ++j) {
      n += flows_[j].group == flows_[i].group && states_[j].phase == FlowPhase::kActive;
    }
    return kWhole / n;
  }
  /// Links of flow i: its path, and one of its own where it is capped.
  std::vector<std::pair<std::size_t, Wide>> uses(std::size_t i) const {
    std::vector<std::pair<std::size_t, Wide>> list;
    for (const LinkUse& use : flows_[i].path) list.emplace_back(use.link, use.weight);
    if (flows_[i].limit != 0) list.emplace_back(capacities_.size() + i, 1);
    return list;
  }
  void fill() {
    std::vector<std::size_t> open;
    std::map<std::size_t, Wide> avail;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (states_[i].phase != FlowPhase::kActive) continue;
      open.push_back(i);
      for (const auto& [link, weight] : uses(i)) {
        avail[link] = link < capacities_.size() ? capacities_[link].value : flows_[i].limit;
      }
    }
    while (!open.empty()) {
      std::map<std::size_t, Wide> weights;
      for (const std::size_t i : open) {
        for (const auto& [link, weight] : uses(i)) weights[link] += weight * fraction(i);
      }
      Wide level = Wide{1} << 120;
      for (const auto& [link, weight] : weights) {
        level = std::min(level, avail[link] * kWhole / weight);
      }
      std::vector<std::size_t> batch, still_open;
      for (const auto& [link, weight] : weights) {
        if (avail[link] * kWhole / weight == level) batch.push_back(link);
      }
      for (const std::size_t i : open) {
        const auto links = uses(i);
        const bool held = std::any_of(links.begin(), links.end(), [&](const auto& use) {
          return std::find(batch.begin(), batch.end(), use.first) != batch.end();
        });
        if (held) {
          states_[i].rate = static_cast<std::int64_t>(level * fraction(i) / kWhole);
          for (const auto& [link, weight] : links) avail[link] -= weight * states_[i].rate;
        } else {
          still_open.push_back(i);
        }
      }
      open.swap(still_open);
    }
  }

  const std::vector<Rate>& capacities_;
  const std::vector<PlainFlow>& flows_;
  std::vector<PlainState> states_;
  std::int64_t now_ = 0;
};

}  // namespace flopcast::test
