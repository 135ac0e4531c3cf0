// Communicators: ranks that meet to make them, and to split them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "live/engine/session/state.h"
#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

Diagnostic wrong_group(const Process& process, std::string what) {
  return {ErrorCode::kBadInput, fmt::format("rank {}", process.rank), std::move(what),
          "every rank of a communicator makes it once, with the same number of ranks"};
}

}  // namespace

/// The group of this name.
std::uint32_t Session::State::group_of(std::string_view name) {
  const auto [found, made] =
      group_names.try_emplace(std::string(name), static_cast<std::uint32_t>(groups.size()));
  if (made) {
    groups.emplace_back();
    groups.back().name = name;
  }
  return found->second;
}

/// The rank of the run whose chip a device of the process is: its own, or one beside it.
std::int32_t Session::State::chip_of(Process& process, std::uint16_t device) const {
  if (!process.home) process.home = device;
  return process.rank + device - *process.home;
}

/// What a folded run's process says of a communicator that it is about to make.
std::optional<Diagnostic> Session::State::tell_members(Process& process, const Record& record,
                                                       std::string_view signature) {
  if (!folding.folds() || record.word[0] == 0) return std::nullopt;
  const std::size_t most = folding.alone ? kMostRanks : folding.alike.size();
  std::optional<std::vector<std::int32_t>> ranks = ranks_of_text(signature, most);
  const auto beyond = [most](std::int32_t rank) { return static_cast<std::size_t>(rank) >= most; };
  if (!ranks || std::any_of(ranks->begin(), ranks->end(), beyond))
    return wrong_group(process, "makes a communicator of ranks that the run does not have");
  process.told_members[record.word[0]] = std::move(*ranks);
  return std::nullopt;
}

/// Of one whose ranks are known: those that call have made it together.
std::uint32_t Session::State::nodes_of(Group& group) const {
  if (group.nodes > 0) return group.nodes;
  std::set<std::uint32_t> nodes;
  for (const std::int32_t rank : group.ranks) {
    if (rank < 0) return 1;
    nodes.insert(static_cast<std::uint32_t>(rank) / chips_of_node);
  }
  return group.nodes = static_cast<std::uint32_t>(nodes.size());
}

/// Its ranks as far as they are known, and how many of them are there.
void Session::State::set_members(Group& group, std::size_t size, Process& process,
                                 std::uint64_t communicator) {
  auto told = process.told_members.extract(communicator);
  if (told && told.mapped().size() == size) {
    group.ranks = std::move(told.mapped());
  } else {
    group.ranks.assign(size, -1);
  }
  group.come.assign(size, false);
  group.images = images_of(folding, group.ranks, chips_of_node);
  const auto is_there = [this](std::int32_t rank) { return rank < 0 || folding.is_there(rank); };
  group.there = folding.alone ? 1
                              : static_cast<std::size_t>(std::count_if(
                                    group.ranks.begin(), group.ranks.end(), is_there));
}

std::optional<Diagnostic> Session::State::join_group(Process& process, Thread& thread,
                                                     const Record& record, std::string_view name) {
  const std::size_t rank = record.word[1], size = record.word[2];
  const std::uint32_t index = group_of(name);
  Group& group = groups[index];
  if (group.made == kNoGrowingTask) {
    set_members(group, size, process, record.word[0]);
    NewTask hub{hubs, TaskKind::kRendezvous, names.intern("communicator")};
    hub.joins = static_cast<std::uint32_t>(group.there);
    group.made = run.add(hub);
    run.keep(group.made);
  }
  if (group.ranks.size() != size || rank >= size || group.come[rank]) {
    return wrong_group(process, fmt::format("joins a communicator of {} as rank {} of {}",
                                            group.ranks.size(), rank, size));
  }
  const std::int32_t chip = chip_of(process, record.device);
  if (group.ranks[rank] >= 0 && group.ranks[rank] != chip) {
    return wrong_group(
        process, fmt::format("joins a communicator as its rank {}, which is rank {} of the run",
                             rank, group.ranks[rank]));
  }
  if (group.ranks[rank] < 0 &&
      std::find(group.ranks.begin(), group.ranks.end(), chip) != group.ranks.end()) {
    return wrong_group(
        process, fmt::format("joins a communicator as rank {} of {} on a GPU that another of its "
                             "ranks is on: NCCL finds a duplicate GPU",
                             rank, size));
  }
  group.ranks[rank] = chip;
  group.come[rank] = true;
  if (rank == 0) group.order = mixed(static_cast<std::uint64_t>(process.rank), record.word[0]);
  process.members[record.word[0]] = {index, static_cast<std::uint32_t>(rank), 0, 0, {}};
  const GrowingTask call =
      host_task(thread, record, TaskKind::kHostCall, names.intern("make communicator"));
  run.join(group.made, {call, Time{}, EdgeKind::kRendezvous});
  return std::nullopt;
}

/// Each member of a group of shared memory names all of them when it first waits for the others there.
std::optional<Diagnostic> Session::State::name_member(Process& process, Thread& thread,
                                                      const Record& record, std::string_view name) {
  const std::size_t size = record.word[1] >> 32, member = record.word[1] & 0xffffffff;
  const auto rank = static_cast<std::int32_t>(record.word[2] >> 32);
  const std::uint32_t index = group_of(name);
  Group& group = groups[index];
  if (group.ranks.empty()) {
    group.ranks.assign(size, -1);
    group.come.assign(size, true);
    group.there = size;
  }
  const auto named = std::find_if(processes.begin(), processes.end(), [rank](const Process& one) {
    return one.rank == rank && !one.child;
  });
  if (group.ranks.size() != size || member >= size || record.word[3] >= size ||
      named == processes.end()) {
    return wrong_group(process,
                       fmt::format("names rank {} as member {} of {} of memory that {} share", rank,
                                   member, size, group.ranks.size()));
  }
  group.ranks[member] = chip_of(*named, static_cast<std::uint16_t>(record.word[2]));
  group.order = mixed(static_cast<std::uint64_t>(group.ranks[0]), record.word[0]);
  process.members.try_emplace(
      record.word[0], Membership{index, static_cast<std::uint32_t>(record.word[3]), 0, 0, {}});
  pass(thread, record);
  return std::nullopt;
}

/// All ranks of a communicator make it together: the call ends when the last has come.
std::optional<Diagnostic> Session::State::wait_group(Process& process, Thread& thread,
                                                     const Record& record) {
  const auto member = process.members.find(record.word[0]);
  if (member == process.members.end())
    return wrong_group(process, "waits for a communicator that it has not made");
  wait_for(thread, record, "wait for communicator", {groups[member->second.group].made});
  return std::nullopt;
}

/// All ranks of a communicator split it together, and learn what they are in their part when the last has come.
std::optional<Diagnostic> Session::State::split_group(Process& process, std::uint32_t number,
                                                      Thread& thread, const Record& record) {
  const auto member = process.members.find(record.word[0]);
  if (member == process.members.end())
    return wrong_group(process, "splits a communicator that it has not made");
  Membership& own = member->second;
  const CallKey key{own.group, CallKey::kAll, CallKey::kAll, own.splits++};
  const std::size_t size = groups[own.group].there;
  Splitting& splitting = splittings[key];
  if (splitting.parts.empty()) {
    NewTask hub{hubs, TaskKind::kRendezvous, names.intern("split communicator")};
    hub.joins = static_cast<std::uint32_t>(size);
    splitting.hub = run.add(hub);
    run.keep(splitting.hub);
  }
  splitting.parts.push_back({static_cast<std::int64_t>(record.word[1]),
                             static_cast<std::int64_t>(record.word[2]), own.rank, process.number,
                             number, record.word[3], groups[own.group].ranks[own.rank]});
  const GrowingTask call =
      host_task(thread, record, TaskKind::kHostCall, names.intern("split communicator"));
  Record wait;
  wait.flags = record.flags;
  wait_for(thread, wait, "split communicator", {splitting.hub});
  const GrowingTask hub = splitting.hub;
  if (splitting.parts.size() == size) {
    Splitting whole = std::move(splitting);
    splittings.erase(key);
    make_parts(key, std::move(whole));
  }
  run.join(hub, {call, Time{}, EdgeKind::kRendezvous});
  return std::nullopt;
}

/// Ranks of one colour become a group, in the order of their keys, then of their old ranks.
void Session::State::make_parts(const CallKey& key, Splitting splitting) {
  std::sort(splitting.parts.begin(), splitting.parts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.colour, a.key, a.rank) < std::tuple(b.colour, b.key, b.rank);
  });
  const auto is_in = [](const Splitting::Part& part) { return part.colour >= 0; };
  const std::string parent = groups[key.group].name;
  for (const Splitting::Part& part : splitting.parts) {
    if (!is_in(part)) continue;
    const std::uint32_t index = group_of(fmt::format("{}/{}:{}", parent, key.number, part.colour));
    Group& group = groups[index];
    Process& process = processes[part.process];
    if (group.made == kNoGrowingTask) {
      group.made = splitting.hub;
      group.order = mixed(static_cast<std::uint64_t>(part.chip), part.communicator);
      const auto is_of = [&](const Splitting::Part& other) { return other.colour == part.colour; };
      const auto come = std::count_if(splitting.parts.begin(), splitting.parts.end(), is_of);
      const auto told = process.told_members.find(part.communicator);
      const auto size =
          told == process.told_members.end() ? static_cast<std::size_t>(come) : told->second.size();
      set_members(group, size, process, part.communicator);
    }
    // In a folded run ranks come in their order, but not all of them.
    const auto known = std::find(group.ranks.begin(), group.ranks.end(), part.chip);
    const auto place =
        known != group.ranks.end() ? known : std::find(group.ranks.begin(), group.ranks.end(), -1);
    *place = part.chip;
    group.come[static_cast<std::size_t>(place - group.ranks.begin())] = true;
    process.members[part.communicator] = {
        index, static_cast<std::uint32_t>(place - group.ranks.begin()), 0, 0, {}};
  }
  for (const Splitting::Part& part : splitting.parts) {
    if (!is_in(part)) continue;
    const Membership& member = processes[part.process].members[part.communicator];
    processes[part.process].threads[part.thread].value =
        std::uint64_t{member.rank} << 32 | groups[member.group].ranks.size();
  }
}

}  // namespace flopcast::live
