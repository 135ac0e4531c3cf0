// The ways of many messages at once: of a collective, where most groups of chips do alike.
#include <algorithm>
#include <utility>

#include "network/topology/state.h"

namespace flopcast {

using namespace network;  // the room's own names

/// Groups of the innermost level are alike, so messages that stay inside one take the links that the
/// same messages take in the first group. They are routed once; the next run of messages inside a group
/// is compared with the last one.
class Topology::State::CrossingCounter {
 public:
  CrossingCounter(const State& state, std::size_t around, std::uint64_t first_flow)
      : state_(state),
        around_(around),
        first_flow_(first_flow),
        counts_(state.spare_counts.take(state.links.size())) {
    if (state.graph || state.options.balancing == Balancing::kEcmp) return;
    const auto inner = std::ranges::find_if(
        state.levels, [](const LevelNet& net) { return net.fabric != nullptr; });
    if (inner != state.levels.end()) inner_ = &*inner;
  }

  Crossings count(std::span<const Message> messages) && {
    out_.links.reserve(std::min(state_.links.size(), messages.size()));
    for (std::size_t i = 0; i < messages.size();) {
      if (const std::size_t run = meet_run(messages, i); run > 0) {
        i += run;
      } else {
        add_message(messages[i], i);
        ++i;
      }
    }
    for (LinkUse& use : out_.links) use.weight = std::exchange(count_[use.link], 0);
    state_.spare_counts.give_back(std::move(counts_));
    return std::move(out_);
  }

 private:
  void add(LinkId link) {
    if (count_[link]++ == 0) out_.links.push_back({link, 0});
  }
  void add_message(const Message& message, std::size_t i) {
    path_.clear();
    state_.route(message.src, message.dst, first_flow_ + i, path_);
    for (const LinkId link : path_) add(link);
    const Time latency = state_.latency(path_);
    out_.slowest = std::max(out_.slowest, latency);
    if (i < around_) out_.around += latency;
  }

  /// Adds the messages from the i-th on that stay inside one group, all on one side of `around`.
  /// @return how many.
  std::size_t meet_run(std::span<const Message> messages, std::size_t i) {
    if (inner_ == nullptr) return 0;
    const std::uint32_t size = inner_->group_chips;
    const std::uint32_t group = messages[i].src / inner_->group_chips, first = group * size;
    const std::size_t end = i < around_ ? std::min(around_, messages.size()) : messages.size();
    const auto rest = messages.subspan(i, end - i);
    // Nearly always these are the known ones.
    const bool known = are_known(rest, first);
    std::size_t length = known ? known_.size() : 0;
    while (length < rest.size() && rest[length].src - first < size &&
           rest[length].dst - first < size) {
      ++length;
    }
    if (length == 0) return 0;
    if (!known || length != known_.size()) learn(rest.first(length), first);
    for (const LinkId link : known_links_) add(link + group * inner_->group_links);
    out_.slowest = std::max(out_.slowest, known_slowest_);
    if (i < around_) out_.around += known_sum_;
    return length;
  }
  /// Whether messages begin with those last learnt, as they are in the group of chip `first`.
  bool are_known(std::span<const Message> messages, std::uint32_t first) const {
    if (messages.size() < known_.size()) return false;
    std::uint32_t differ = 0;
    for (std::size_t k = 0; k < known_.size(); ++k) {
      differ |= (messages[k].src - first) ^ known_[k].src;
      differ |= (messages[k].dst - first) ^ known_[k].dst;
    }
    return differ == 0;
  }

  void learn(std::span<const Message> run, std::uint32_t first) {
    known_.clear();
    known_links_.clear();
    known_slowest_ = known_sum_ = {};
    for (const Message& message : run) {
      known_.push_back({message.src - first, message.dst - first});
      const std::size_t before = known_links_.size();
      state_.route(known_.back().src, known_.back().dst, 0, known_links_);
      const Time latency = state_.latency(std::span(known_links_).subspan(before));
      known_slowest_ = std::max(known_slowest_, latency);
      known_sum_ += latency;
    }
  }

  const State& state_;
  std::size_t around_;
  std::uint64_t first_flow_;
  std::unique_ptr<SpareCounts::Counts> counts_;
  std::uint32_t* count_ = counts_->data();  // by link
  Crossings out_;
  std::vector<LinkId> path_;
  const LevelNet* inner_ = nullptr;  // innermost level; none where groups are not alike
  std::vector<Message> known_;       // the last run, as in group 0
  std::vector<LinkId> known_links_;  // one message's after the other's
  Time known_slowest_, known_sum_;
};

Topology::Crossings Topology::crossings(std::span<const Message> messages, std::size_t around,
                                        std::uint64_t first_flow) const {
  return State::CrossingCounter(*state_, around, first_flow).count(messages);
}

}  // namespace flopcast
