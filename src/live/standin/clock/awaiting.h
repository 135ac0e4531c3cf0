// Waits for any of several descriptors.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {

inline constexpr std::int64_t kNsOfMs = 1'000'000;

/// How long a thread counts as running that waits for what is no channel. Answers of another rank that come at once are waited
/// for, so that nothing passes the thread by; but that rank may itself need that something passes.
inline std::int64_t patience_ms(bool for_ranks) {
  return (for_ranks ? kLongNs : kTooLongNs) / kNsOfMs;
}

/// This thread stands still until `wait`, which takes real time, is over.
template <typename Wait>
auto outside(Wait wait) {
  Link& link = Link::get();
  link.block(Standing::kOutside, nullptr);
  const auto result = wait();
  const int error = errno;
  link.unblock();
  errno = error;
  return result;
}

/// So long a thread that serves a library may take to accept a connection on a busy machine: PyTorch's store does.
inline constexpr std::int64_t kLongestMeetMs = 100;

/// Channels that a thread waits for at once.
inline constexpr std::size_t kMostChannels = 512;

/// Descriptors that are waited for, as channels.
class Awaited {
 public:
  /// @param name by which it is known whether it is ready
  /// @param reads,writes what for
  /// @param again whether it is found again by who has not been told of it
  void add(int descriptor, std::uint64_t name, bool reads, bool writes, bool again);
  bool empty() const { return channels_.empty() || channels_.size() > kMostChannels; }
  std::vector<AtChannel>& channels() { return channels_; }

  /// The first time at which there is something in one that is ready.
  template <typename IsReady>
  std::int64_t first(IsReady is_ready) const {
    std::int64_t first = Channel::kNoTime;
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (!is_ready(named_[i].name)) continue;
      const std::int64_t ns = channels_[i].channel->next_ns();
      if (ns != Channel::kNoTime && (first == Channel::kNoTime || ns < first)) first = ns;
    }
    return first;
  }
  /// Whether whoever looks again finds all that was found before.
  bool repeatable() const {
    return std::all_of(named_.begin(), named_.end(), [](const Name& one) { return one.again; });
  }
  /// What is there really, but not yet in virtual time, is left for later. @return how much
  template <typename IsReady, typename Drop>
  int leave(std::int64_t now, IsReady is_ready, Drop drop) const {
    int left = 0;
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      const auto& [name, again] = named_[i];
      if (again && is_ready(name) && channels_[i].channel->next_ns() > now) left += drop(name);
    }
    return left;
  }
  /// A thread in real time may be about to accept a connection: then it is no channel. Whoever accepts does so soon.
  /// @param wait_ms as below
  template <typename Wait>
  int meet(Wait wait_ms) {
    constexpr auto kNobodyYet = Channel::Meets::kNobodyYet;
    const auto is_open = [](const AtChannel& one) {
      return one.channel->meets.load() == kNobodyYet;
    };
    const auto any_open = [&] { return std::any_of(channels_.begin(), channels_.end(), is_open); };
    if (!any_open()) return 0;
    const int ready = outside([&] {
      int found = 0;
      for (std::int64_t ms = 0; found == 0 && ms < kLongestMeetMs && any_open(); ++ms)
        found = wait_ms(1);
      return found;
    });
    for (AtChannel& one : channels_) {
      auto open = kNobodyYet;
      if (ready == 0) one.channel->meets.compare_exchange_strong(open, Channel::Meets::kNotKnown);
    }
    forget_strangers();
    return ready;
  }

 private:
  struct Name {
    std::uint64_t name;
    bool again;
  };
  void forget_strangers();

  std::vector<AtChannel> channels_;
  std::vector<Name> named_;
};

/// This thread is about to read at a descriptor, or to accept. @return false if a signal came before
bool before_read(int descriptor, bool blocks = true);

/// Waits for any of several descriptors. @param wait_ms waits so long (-1: for ever), and gives 0 if nothing came
/// @param awaited those that are channels
/// @param is_ready whether one of a name was found ready; `drop` makes it one that was not, and gives how many that were
template <typename Wait, typename IsReady, typename Drop>
int wait_for_any(std::int64_t ns, bool for_ranks, Awaited awaited, Wait wait_ms, IsReady is_ready,
                 Drop drop) {
  int ready = wait_ms(0);
  if (ready != 0 || ns != 0) {
    own_speaker->looks = 0;
  } else {
    own_speaker->looks_for_others = true;  // it is a look, and nothing was there
  }
  if (ready == 0 && ns != 0) ready = awaited.meet(wait_ms);
  if (ready == 0 && ns != 0) {
    if (awaited.empty()) {
      const std::int64_t all_ms = ns < 0 ? -1 : (ns + kNsOfMs - 1) / kNsOfMs;
      const std::int64_t patience = patience_ms(for_ranks);
      const int came = outside([&] {
        const bool more = all_ms < 0 || all_ms > patience;
        const int first = wait_ms(more ? patience : all_ms);
        if (first != 0 || !more) return first;
        Link::get().tell_own();
        return wait_ms(all_ms < 0 ? -1 : all_ms - patience);
      });
      if (came == 0 && ns > 0) sleep_ns(ns);  // the time-out is the thread's, too
      return came;
    }
    ready =
        stand_at(awaited.channels(), ns, wait_ms, [&] { return awaited.first(is_ready); }).ready;
  }
  if (ready <= 0) return ready;
  const int error = errno;
  Link::get().go_on_from(awaited.first(is_ready));
  // What others put there until this thread's turn has come is there, too.
  if (ns != 0 && awaited.repeatable() && Link::get().acts_in_turn()) {
    Link::get().take_turn();
    if (const int again = wait_ms(0); again > 0) ready = again;
  }
  ready -= awaited.leave(own_speaker->now_ns(), is_ready, drop);
  errno = error;
  return ready;
}

}  // namespace flopcast::live
