// Communicators: ranks that meet, and the transfers they make then.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "live/session/state.h"

namespace flopcast::live {
namespace {

Collective op_of(const Record& record) { return static_cast<Collective>(record.word[1] >> 32); }
std::uint32_t peer_of(const Record& record) { return static_cast<std::uint32_t>(record.word[1]); }

bool between_two(Collective op) { return op == Collective::kSend || op == Collective::kReceive; }

Diagnostic mismatch(const Process& process, std::string what) {
  return {ErrorCode::kBadInput, fmt::format("rank {}", process.rank), std::move(what),
          "every rank of a communicator makes the same calls in the same order"};
}

}  // namespace

/// All ranks of a communicator make it together: the call ends when the last has come.
std::optional<Diagnostic> Session::State::join_group(Process& process, Thread& thread,
                                                     const Record& record, std::string_view id) {
  const std::size_t rank = record.word[1], size = record.word[2];
  Group& group = groups[std::string(id)];
  if (group.made == kNoGrowingTask) {
    group.ranks.assign(size, -1);
    NewTask hub{hubs, TaskKind::kRendezvous, names.intern("communicator")};
    hub.joins = static_cast<std::uint32_t>(size);
    group.made = run.add(hub);
    run.keep(group.made);
  }
  if (group.ranks.size() != size || rank >= size || group.ranks[rank] >= 0) {
    return mismatch(process, fmt::format("joins a communicator of {} as rank {} of {}",
                                         group.ranks.size(), rank, size));
  }
  group.ranks[rank] = process.rank;
  process.members[record.word[0]] = {std::string(id), static_cast<std::uint32_t>(rank), {}};
  const GrowingTask call = host_task(thread, record, TaskKind::kHostCall, "make communicator");
  run.join(group.made, {call, Time{}, EdgeKind::kRendezvous});
  Record wait;
  wait.flags = record.flags;
  wait_for(thread, wait, "make communicator", {group.made});
  return std::nullopt;
}

/// All ranks of a communicator split it together, and learn what they are in their part when the last has come.
std::optional<Diagnostic> Session::State::split_group(Process& process, std::uint32_t number,
                                                      Thread& thread, const Record& record) {
  const auto member = process.members.find(record.word[0]);
  if (member == process.members.end()) {
    return mismatch(process, "splits a communicator that it has not made");
  }
  Membership& own = member->second;
  const std::string key = fmt::format("{}/{}", own.group, own.calls["split"]++);
  const std::size_t size = groups[own.group].ranks.size();
  Splitting& splitting = splittings[key];
  if (splitting.parts.empty()) {
    NewTask hub{hubs, TaskKind::kRendezvous, names.intern("split communicator")};
    hub.joins = static_cast<std::uint32_t>(size);
    splitting.hub = run.add(hub);
    run.keep(splitting.hub);
  }
  splitting.parts.push_back({static_cast<std::int64_t>(record.word[1]),
                             static_cast<std::int64_t>(record.word[2]), own.rank, process.number,
                             number, record.word[3]});
  const GrowingTask call = host_task(thread, record, TaskKind::kHostCall, "split communicator");
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
void Session::State::make_parts(const std::string& key, Splitting splitting) {
  std::sort(splitting.parts.begin(), splitting.parts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.colour, a.key, a.rank) < std::tuple(b.colour, b.key, b.rank);
  });
  for (const Splitting::Part& part : splitting.parts) {
    if (part.colour < 0) continue;
    Process& process = processes[part.process];
    const std::string name = fmt::format("{}:{}", key, part.colour);
    Group& group = groups[name];
    process.members[part.communicator] = {name, static_cast<std::uint32_t>(group.ranks.size()), {}};
    group.ranks.push_back(process.rank);
  }
  for (const Splitting::Part& part : splitting.parts) {
    if (part.colour < 0) continue;
    const Membership& member = processes[part.process].members[part.communicator];
    processes[part.process].threads[part.thread].value =
        std::uint64_t{member.rank} << 32 | groups[member.group].ranks.size();
  }
}

/// The meeting that a call is part of, by what its group has done so far.
Meeting& Session::State::meeting_of(Membership& member, const Record& record) {
  const Collective op = op_of(record);
  std::string key = member.group + '#';
  if (between_two(op)) {
    const bool sends = op == Collective::kSend;
    key += fmt::format("{}>{}", sends ? member.rank : peer_of(record),
                       sends ? peer_of(record) : member.rank);
  }
  const std::uint64_t number = member.calls[key]++;
  key += fmt::format("#{}", number);
  Meeting& meeting = meetings[key];
  meeting.key = std::move(key);
  return meeting;
}

/// One call of a group call: the rank arrives at its meeting. @return when its transfer is over
Result<GrowingTask> Session::State::arrive(const Process& process, Membership& member,
                                           const Record& record, GrowingTask arrival) {
  Meeting& meeting = meeting_of(member, record);
  const Group& group = groups[member.group];
  const Collective op = between_two(op_of(record)) ? Collective::kSend : op_of(record);
  const auto bytes = static_cast<std::int64_t>(record.word[2]);
  if (meeting.come == 0) {
    meeting.expected = op == Collective::kSend ? 2 : group.ranks.size();
    meeting.what = {op, bytes, group.ranks};
    if (op == Collective::kSend) {
      const std::uint32_t peer = peer_of(record);
      if (peer >= group.ranks.size()) {
        return mismatch(process, fmt::format("names rank {} of a communicator of {}", peer,
                                             group.ranks.size()));
      }
      const bool sends = op_of(record) == Collective::kSend;
      meeting.what.ranks = {group.ranks[sends ? member.rank : peer],
                            group.ranks[sends ? peer : member.rank]};
    }
    meeting.first_rank = process.rank;
    NewTask hub{hubs, TaskKind::kRendezvous, names.intern("collective")};
    hub.joins = static_cast<std::uint32_t>(meeting.expected);
    meeting.hub = run.add(hub);
    NewTask transfer{hubs, TaskKind::kTransfer, names.intern("collective")};
    transfer.ends_later = true;
    meeting.transfer = run.add(transfer, {{meeting.hub, Time{}, EdgeKind::kRendezvous}});
    run.keep(meeting.transfer);
    to_begin.emplace(meeting.transfer, meeting.what);
  }
  if (meeting.what.op != op || meeting.what.bytes != bytes) {
    return mismatch(process, fmt::format("and rank {} differ: operation {} of {} bytes here, {} of "
                                         "{} bytes there",
                                         meeting.first_rank, static_cast<int>(op), bytes,
                                         static_cast<int>(meeting.what.op), meeting.what.bytes));
  }
  run.join(meeting.hub, {arrival, Time{}, EdgeKind::kRendezvous});
  if (++meeting.come < meeting.expected) return meeting.transfer;
  const GrowingTask transfer = meeting.transfer;
  complete.push_back(transfer);
  meetings.erase(std::string(meeting.key));
  return transfer;
}

/// Collects the calls of a group call; its last one puts one kernel on the stream, which ends when all
/// its transfers have.
std::optional<Diagnostic> Session::State::communicate(Process& process, Thread& thread,
                                                      const Record& record) {
  const GrowingTask call = host_task(thread, record, TaskKind::kLaunch, "communicate");
  thread.group_call.push_back(record);
  if (thread.group_call.size() < record.word[3]) return std::nullopt;
  Stream& stream = stream_of(process, record.device, record.stream);
  const GrowingTask arrival =
      on_stream(process, record.device, stream, call,
                {stream.track, TaskKind::kArrival, names.intern("communicate")});
  NewTask task{stream.track, TaskKind::kTransfer, names.intern("communicate")};
  std::vector<Dependency> after;
  for (const Record& one : std::exchange(thread.group_call, {})) {
    const auto member = process.members.find(one.word[0]);
    if (member == process.members.end()) {
      return mismatch(process, "calls a communicator that it has not made");
    }
    const Result<GrowingTask> transfer = arrive(process, member->second, one, arrival);
    if (!transfer) return transfer.error();
    after.push_back({*transfer, Time{}, EdgeKind::kRendezvous, false, true});
  }
  stream.last = run.add(task, after);
  for (const GrowingTask one : std::exchange(complete, {})) run.let_go(one);
  return std::nullopt;
}

}  // namespace flopcast::live
