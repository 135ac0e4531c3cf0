// Calls of communicators: ranks that meet, and the transfers they make then.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

std::uint32_t peer_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t calls_together(const Record& record) {
  return static_cast<std::uint32_t>(record.word[3]);
}
bool is_of_two(Collective op) { return op == Collective::kSend || op == Collective::kReceive; }
bool puts_together(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kReduce ||
         op == Collective::kReduceScatter;
}

/// Between two ranks, one side sends and the other receives.
CallKey key_of_pair(const Membership& member, std::uint64_t word) {
  const bool sends = op_of(word) == Collective::kSend;
  const std::uint32_t peer = peer_of(word);
  return {member.group, sends ? member.rank : peer, sends ? peer : member.rank, 0};
}
std::uint64_t pair_number(std::uint64_t from, std::uint64_t to) { return from << 32 | to; }
constexpr std::uint64_t kOtherEnd = std::uint64_t{1} << 63;

/// NCCL compares nothing between two ranks. A message of at most this (NCCL_P2P_LL_THRESHOLD) is one step of its
/// protocol, so who expects less than is sent gets that, and nobody notices: PyTorch 2.9 makes the connections
/// of a pipeline's stages so, eight bytes to a place for four.
constexpr std::int64_t kOneStep = 16 << 10;

bool fits(const Comer& sent, const Comer& expected) {
  return sent.bytes == expected.bytes || (expected.bytes < sent.bytes && sent.bytes <= kOneStep);
}

/// Which of two calls that meet goes with the other.
bool agree(const Comer& a, const Comer& b) {
  if (is_of_two(op_of(a.op))) return op_of(a.op) == Collective::kSend ? fits(a, b) : fits(b, a);
  const bool kind = !puts_together(op_of(a.op)) || a.kind == b.kind;
  return a.op == b.op && a.bytes == b.bytes && kind;
}

Diagnostic not_a_member(const Process& process) {
  return {ErrorCode::kBadInput, fmt::format("rank {}", process.rank),
          "calls a communicator that it has not made",
          "a communicator is made before it is used, and not dropped before its last call"};
}

}  // namespace

Collective op_of(std::uint64_t word) { return static_cast<Collective>(word >> 32); }

/// The meeting that a call is part of, by what its group has done so far.
Meeting& Session::State::meeting_of(Membership& member, const Record& record) {
  CallKey key{member.group, CallKey::kAll, CallKey::kAll, 0};
  if (is_of_two(op_of(record.word[1]))) {
    key = key_of_pair(member, record.word[1]);
    // A rank that sends to itself makes both calls.
    const bool other_end = key.from == key.to && op_of(record.word[1]) == Collective::kReceive;
    key.number = member.pair_calls[pair_number(key.from, key.to) ^ (other_end ? kOtherEnd : 0)]++;
  } else {
    key.number = member.calls++;
  }
  Meeting& meeting = meetings[key];
  meeting.key = key;
  return meeting;
}

/// Who is not there comes when those that are like it do, so only they can meet it alone; or who sends to all at once, or
/// receives from all.
std::optional<Diagnostic> Session::State::stranger_in(const std::vector<std::int32_t>& both) const {
  if ((folding.is_there(both[0]) && folding.is_there(both[1])) ||
      folding.are_alike(both[0], both[1]))
    return std::nullopt;
  return Diagnostic{
      ErrorCode::kNoAnswer, "live run",
      fmt::format("rank {} sends to rank {}, and only one of them is there: the other "
                  "is like ranks that do something else",
                  both[0], both[1]),
      "fold less: --fold dp, or --fold off"};
}

/// The first rank has come: a hub for all, and what they do together.
std::optional<Diagnostic> Session::State::open_meeting(const Process& process,
                                                       const Membership& member,
                                                       const Record& record, Meeting& meeting) {
  const std::vector<std::int32_t>& ranks = groups[member.group].ranks;
  const Collective op = op_of(record.word[1]);
  const auto bytes = static_cast<std::int64_t>(record.word[2]);
  if (is_of_two(op)) {
    if (std::max(meeting.key.from, meeting.key.to) >= ranks.size()) {
      return Diagnostic{ErrorCode::kBadInput, fmt::format("rank {}", process.rank),
                        fmt::format("names rank {} of a communicator of {}",
                                    peer_of(record.word[1]), ranks.size()),
                        "ranks of a communicator count from 0"};
    }
    meeting.what = {Collective::kSend, bytes, {ranks[meeting.key.from], ranks[meeting.key.to]}};
    for (const std::vector<std::int32_t>& image : groups[member.group].images)
      meeting.what.beside.push_back({image[meeting.key.from], image[meeting.key.to]});
  } else {
    meeting.what = {op, bytes, ranks, groups[member.group].images};
  }
  if (folding.alone) meeting.what.ranks = {ranks[member.rank]};
  meeting.expected = groups[member.group].there;
  if (is_of_two(op) && !folding.alone) {
    const std::vector<std::int32_t>& both = meeting.what.ranks;
    const bool with_all = calls_together(record) + 1 >= ranks.size() && ranks.size() > 2;
    if (auto problem = with_all ? std::nullopt : stranger_in(both)) return problem;
    meeting.expected = static_cast<std::size_t>(folding.is_there(both[0])) +
                       static_cast<std::size_t>(folding.is_there(both[1]));
  }
  const std::uint32_t name = names.intern(word_for(meeting.what.op));
  NewTask hub{hubs, TaskKind::kRendezvous, name};
  hub.joins = static_cast<std::uint32_t>(meeting.expected);
  const CallKey& key = meeting.key;
  const std::uint64_t pair = std::uint64_t{key.from} << 32 | key.to;
  hub.order = mixed(mixed(groups[key.group].order, key.number), pair) & ~std::uint64_t{1};
  meeting.hub = run.add(hub);
  NewTask transfer{hubs, TaskKind::kTransfer, name};
  transfer.ends_later = true;
  transfer.order = hub.order + 1;
  meeting.transfer = run.add(transfer, {{meeting.hub, Time{}, EdgeKind::kRendezvous}});
  run.keep(meeting.transfer);
  return std::nullopt;
}

/// All have come: whether they have come for the same.
std::optional<Diagnostic> Session::State::disagreement(Meeting& meeting) const {
  // Whoever came first does not show.
  std::sort(meeting.come.begin(), meeting.come.end(),
            [](const Comer& a, const Comer& b) { return a.rank < b.rank; });
  const Comer& first = meeting.come.front();
  for (const Comer& other : meeting.come) {
    if (agree(first, other)) continue;
    return Diagnostic{
        ErrorCode::kBadInput, "live run",
        fmt::format("ranks {} and {} differ: rank {} calls {}{}, rank {} calls {}{}", first.rank,
                    other.rank, first.rank, text_of_call(meeting.key, first),
                    lines_of(meeting, {first.rank}), other.rank, text_of_call(meeting.key, other),
                    lines_of(meeting, {other.rank})),
        "every rank of a communicator makes the same calls in the same order"};
  }
  return std::nullopt;
}

/// One call of a group call: the rank arrives at its meeting. @param key set to the meeting's
/// @return when its transfer is over
Result<GrowingTask> Session::State::arrive(Process& process, Membership& member,
                                           const Record& record, GrowingTask arrival, Time called,
                                           std::string_view line, CallKey& key) {
  Meeting& meeting = meeting_of(member, record);
  key = meeting.key;
  if (meeting.come.empty()) {
    if (auto problem = open_meeting(process, member, record, meeting)) return *problem;
  }
  const Comer comer{groups[member.group].ranks[member.rank],
                    record.word[1],
                    record.word[3] >> 32,
                    static_cast<std::int64_t>(record.word[2]),
                    arrival,
                    process.number,
                    called,
                    names.intern(line)};
  will_be_watched(meeting, comer);
  run.keep(arrival);
  meeting.come.push_back(comer);
  process.nodes = std::max(process.nodes, nodes_of(groups[member.group]));
  // What is sent is what goes, whichever side has come first.
  if (op_of(comer.op) == Collective::kSend) meeting.what.bytes = comer.bytes;
  Transfer own = meeting.what;
  own.bytes = comer.bytes;
  // Nothing is sent beside which others would be slower.
  if (own.op != Collective::kBarrier) process.beside += work.alone(own);
  const GrowingTask transfer = meeting.transfer;
  if (meeting.come.size() == meeting.expected) {
    if (auto problem = disagreement(meeting)) return *problem;
    complete.push_back(transfer);
    const GrowingTask hub = meeting.hub;
    to_begin.emplace(transfer, std::move(meeting));
    meetings.erase(to_begin.at(transfer).key);
    run.join(hub, {arrival, Time{}, EdgeKind::kRendezvous});
  } else {
    run.join(meeting.hub, {arrival, Time{}, EdgeKind::kRendezvous});
  }
  return transfer;
}

/// What a trace says of a kernel's calls. Sends and receives of one group call are told by the ranks that take part, and
/// by the least of them in an order that both sides see; of several collectives the last one counts.
void Session::State::note_call(const Record& record, const CallKey& key, TaskNote& note) {
  Group& group = groups[key.group];
  const Collective op = op_of(record.word[1]);
  const auto of_pair = [&] {  // numbers of a pair are those of one direction
    return 2 * key.number + (group.ranks[key.from] > group.ranks[key.to] ? 1 : 0);
  };
  const std::uint64_t number = is_of_two(op) ? of_pair() : key.number;
  const bool first = note.bytes == 0 && note.sequence == 0;
  note.bytes += record.word[2];
  // Pairs count by themselves: as if they had a communicator of their own.
  note.communicator = is_of_two(op) ? mixed(group.order, 1) : group.order;
  if (!first && is_of_two(op) && number >= note.sequence) return;
  note.sequence = number;
  note.detail = static_cast<std::uint8_t>(op);
  note.element = static_cast<Element>(record.word[3] >> 32 & 0xff);
}

/// The ranks that a group call is between: "0,1".
std::uint32_t Session::State::ranks_of(const std::vector<CallKey>& calls) {
  Group& group = groups[calls.back().group];
  if (calls.back().from == CallKey::kAll) {
    if (group.words == 0)
      group.words = names.intern(fmt::format("{}", fmt::join(group.ranks, ",")));
    return group.words;
  }
  std::set<std::int32_t> ranks;
  for (const CallKey& call : calls) {
    if (call.from == CallKey::kAll) continue;
    ranks.insert({groups[call.group].ranks[call.from], groups[call.group].ranks[call.to]});
  }
  return names.intern(fmt::format("{}", fmt::join(ranks, ",")));
}

/// Collects the calls of a group call; its last one puts one kernel on the stream, which ends when all
/// its transfers have.
std::optional<Diagnostic> Session::State::communicate(Process& process, Thread& thread,
                                                      const Record& record, std::string_view line) {
  const std::uint32_t name = names.intern(word_for(op_of(record.word[1])));
  thread.group_call.push_back(record);
  const bool last = thread.group_call.size() >= calls_together(record);
  Record launch = record;
  if (!last) launch.act = Act::kNothing;  // only the last one launches something
  const GrowingTask call = call_of(thread, launch, name);
  if (!last) return std::nullopt;
  Stream& stream = stream_of(process, record.device, record.stream);
  const GrowingTask arrival =
      on_stream(process, record.device, stream, call, {stream.track, TaskKind::kArrival, name});
  NewTask task{stream.track, TaskKind::kTransfer, name};
  TaskNote note;
  note.act = Act::kCollective;
  note.device = record.device;
  note.launcher = call;
  std::vector<Dependency> after;
  std::vector<CallKey> calls;
  for (const Record& one : std::exchange(thread.group_call, {})) {
    const auto member = process.members.find(one.word[0]);
    if (member == process.members.end()) return not_a_member(process);
    CallKey& key = calls.emplace_back();
    const Result<GrowingTask> transfer =
        arrive(process, member->second, one, arrival, thread.clock, line, key);
    if (!transfer) return transfer.error();
    note_call(one, key, note);
    after.push_back({*transfer, Time{}, EdgeKind::kRendezvous, false, true});
  }
  note.group = ranks_of(calls);
  task.note = keep_note(note);
  stream.last = run.add(task, after);
  runs_on_chip(process, record.device, stream.last, true, arrival);
  watch(process, record, stream.last);
  for (const GrowingTask one : std::exchange(complete, {})) run.let_go(one);
  return std::nullopt;
}

/// Transfers whose ranks have all come start, and products that take turns.
void Session::State::begin_transfers() {
  const std::vector<GrowingTask> more = run.take_started();
  started.insert(started.end(), more.begin(), more.end());
  while (!started.empty()) {
    const GrowingTask task = started.front();
    if (!watched_until(run.start(task))) return;
    started.erase(started.begin());
    begin_transfer(task);
  }
}

void Session::State::begin_transfer(GrowingTask task) {
  changed();
  if (const auto product = products.find(task); product != products.end()) {
    const Product& what = product->second;
    work.compute(task, what.order, what.chip, what.duration, run.start(task));
    products.erase(product);
    return;
  }
  const auto found = to_begin.find(task);
  work.begin(task, found->second.what, run.start(task));
  for (const Comer& comer : found->second.come) {
    is_not_watched(found->second, comer);
    run.let_go(comer.arrival);
  }
  to_begin.erase(found);
}

/// The thread needs the bytes of a call that it has made: it goes on when all have called. That is no part of the
/// program, and leaves no task.
std::optional<Diagnostic> Session::State::settle(Process& process, Thread& thread,
                                                 const Record& record) {
  const auto member = process.members.find(record.word[0]);
  if (member == process.members.end()) return not_a_member(process);
  thread.settles = {member->second.group, CallKey::kAll, CallKey::kAll, record.word[2]};
  if (record.word[1] != 0) {
    thread.settles.from = static_cast<std::uint32_t>(record.word[1] >> 32) - 1;
    thread.settles.to = static_cast<std::uint32_t>(record.word[1]) - 1;
  }
  thread.doing = Doing::kSettles;
  return std::nullopt;
}

}  // namespace flopcast::live
