#include "live/engine/session/device_use.h"

#include <algorithm>
#include <optional>

#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

/// As NVML's own samples: a second.
constexpr Time kWindow = Time::from_us(1'000'000);
constexpr double kBillionths = 1e9;

std::uint64_t held_at(const std::deque<std::pair<Time, std::uint64_t>>& levels, Time at) {
  std::uint64_t held = 0;
  for (const auto& [from, bytes] : levels) {
    if (from <= at) held = bytes;
  }
  return held;
}

}  // namespace

std::vector<BusyTime::Span> BusyTime::merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end());
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (out.empty() || span.first > out.back().second) {
      out.push_back(span);
    } else {
      out.back().second = std::max(out.back().second, span.second);
    }
  }
  return out;
}

void BusyTime::add(Time start, Time end) {
  if (start < end) spans_.emplace_back(start, end);
}

void BusyTime::forget(Time before) {
  spans_ = merged(std::move(spans_));
  const auto kept = std::find_if(spans_.begin(), spans_.end(),
                                 [before](const Span& span) { return span.second > before; });
  for (auto span = spans_.begin(); span != kept; ++span) forgotten_ += span->second - span->first;
  spans_.erase(spans_.begin(), kept);
}

Time BusyTime::within(Time from, Time to) const {
  Time busy;
  for (const Span& span : merged(spans_)) {
    const Time start = std::max(span.first, from), end = std::min(span.second, to);
    if (start < end) busy += end - start;
  }
  return busy;
}

Time BusyTime::until(Time to) const { return forgotten_ + within(Time::min(), to); }

// --- the session's chips ------------------------------------------------------------------------

/// Ranks fill nodes one after the other; a device's number is one of its node.
std::uint32_t Session::State::chip_of_node(std::int32_t rank, std::uint16_t device) const {
  const auto node = static_cast<std::uint32_t>(std::max(rank, 0)) / devices_of_node;
  return node * devices_of_node + device;
}

/// A task on a stream is known of its chip; what it waits for may not have ended.
/// @param behind a collective runs from the end of this on, though its own end is not known
void Session::State::runs_on_chip(const Process& process, std::uint16_t device, GrowingTask task,
                                  bool computes, GrowingTask behind) {
  ChipUse& chip = chips[chip_of_node(process.rank, device)];
  if (run.settled(task)) {
    chip.moves.add(run.start(task), run.end(task));
    if (computes) chip.computes.add(run.start(task), run.end(task));
  } else {
    run.keep(task);
    if (behind != kNoGrowingTask) run.keep(behind);
    chip.unended.push_back({task, behind, computes});
  }
  if (chip.moves.size() + chip.unended.size() < chip.tidy_at) return;
  tidy(chip);
  const Time before = threads_until(nullptr);
  for (BusyTime* const busy : {&chip.computes, &chip.moves}) {
    if (before > kWindow && before < Time::max()) busy->forget(before - kWindow);
  }
  chip.tidy_at = std::max<std::size_t>(4096, 2 * (chip.moves.size() + chip.unended.size()));
}

/// What has ended meanwhile.
void Session::State::tidy(ChipUse& chip) {
  std::erase_if(chip.unended, [&](const Unended& one) {
    if (!run.settled(one.task)) return false;
    chip.moves.add(run.start(one.task), run.end(one.task));
    if (one.computes) chip.computes.add(run.start(one.task), run.end(one.task));
    run.let_go(one.task);
    if (one.behind != kNoGrowingTask) run.let_go(one.behind);
    return true;
  });
}

void Session::State::holds(const Process& process, std::uint16_t device, Time from,
                           std::uint64_t bytes) {
  auto& levels = chips[chip_of_node(process.rank, device)].holdings[process.number];
  levels.emplace_back(from, bytes);
  constexpr std::size_t kMany = 64;
  if (levels.size() % kMany != 0) return;
  const Time before = threads_until(nullptr);
  while (levels.size() > 1 && levels[1].first <= before) levels.pop_front();
}

/// @pre all that happens by then is known
std::uint64_t Session::State::use_of(std::uint32_t number, DeviceUse what, std::uint64_t which,
                                     Time at) {
  ChipUse& chip = chips[number];
  tidy(chip);
  const auto busy = [&](bool copies_too, auto asked) {
    BusyTime all = copies_too ? chip.moves : chip.computes;
    for (const Unended& one : chip.unended) {
      // It has begun, and ends later.
      if (one.behind != kNoGrowingTask && run.settled(one.behind) && run.end(one.behind) < at)
        all.add(run.end(one.behind), at);
    }
    return asked(all);
  };
  const auto share = [&](const BusyTime& all) {
    const Time from = std::max(at - kWindow, Time());
    if (at <= from) return std::uint64_t{0};
    const Time part = all.within(from, at);
    return static_cast<std::uint64_t>(kBillionths * static_cast<double>(part.ps) /
                                      static_cast<double>((at - from).ps));
  };
  std::vector<std::pair<std::uint32_t, std::uint64_t>> holders;
  for (const auto& [process, levels] : chip.holdings) {
    if (const std::uint64_t bytes = held_at(levels, at); bytes > 0)
      holders.emplace_back(processes[process].pid, bytes);
  }
  switch (what) {
    case DeviceUse::kComputes:
      return busy(false, share);
    case DeviceUse::kMoves:
      return busy(true, share);
    case DeviceUse::kBusyTime:
      return busy(false, [at](const BusyTime& all) {
        return static_cast<std::uint64_t>(all.until(at).ps);
      });
    case DeviceUse::kMemory: {
      std::uint64_t all = 0;
      for (const auto& [pid, bytes] : holders) all += bytes;
      return all;
    }
    case DeviceUse::kProcess:
      return which < holders.size() ? holders[which].first : 0;
    case DeviceUse::kMemoryOf:
      break;
  }
  return which < holders.size() ? holders[which].second : 0;
}

}  // namespace flopcast::live
