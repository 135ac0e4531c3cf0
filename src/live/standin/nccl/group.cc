// Calls between ncclGroupStart and ncclGroupEnd go out together.
#include <algorithm>
#include <utility>
#include <vector>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/nccl/caller.h"
#include "live/standin/nccl/communicator.h"
#include "live/standin/nccl/members.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

struct Collected {
  Communicator* communicator = nullptr;
  Call call;
  Record record;
  void* stream = nullptr;
  bool with_another = false;  ///< its bytes come with those of another call
};

thread_local int group_depth = 0;
thread_local std::vector<Collected> group_calls;
thread_local std::vector<Record> group_joins;

/// Nobody waits before all have been named: another process may name them in another order.
void send_joins() {
  Link& link = Link::get();
  const std::vector<Record> joins = std::exchange(group_joins, {});
  for (const Record& join : joins) link.say(join);
  for (const Record& join : joins) {
    Record wait = record_on(nullptr, Act::kWaitGroup);
    wait.word[0] = join.word[0];
    link.ask(wait);
  }
}

void bring_bytes(const std::vector<Collected>& calls) {
  Payload& payload = Payload::get();
  for (const Collected& one : calls) {
    if (!one.with_another) payload.prepare(*one.communicator->party, one.call);
  }
  for (const Collected& one : calls) {
    if (!one.with_another) payload.give(*one.communicator->party, one.call);
  }
}

/// Whoever gathers receives from each: from who is not there, what the one sends that stands for it.
void receive_for_absent_senders(std::vector<Collected>& calls) {
  for (Collected& one : calls) {
    if (one.call.op != Collective::kReceive) continue;
    const int voice = one.communicator->party->voice_of(one.call.peer);
    if (voice == one.call.peer) continue;
    const auto own =
        std::find_if(calls.begin(), calls.end(), [&one, voice](const Collected& other) {
          return other.communicator == one.communicator && other.call.op == one.call.op &&
                 other.call.peer == voice && other.call.count == one.call.count &&
                 other.call.element == one.call.element;
        });
    if (own == calls.end()) continue;
    own->call.copies.push_back(one.call.receive);
    one.with_another = true;
  }
}

/// Ranks that broadcast in turn gather what each of them has: who is not there would give what the one gives that stands
/// for it.
void give_for_absent_roots(std::vector<Collected>& calls) {
  for (Collected& one : calls) {
    if (!one.call.nobody_gives) continue;
    const auto own = std::find_if(calls.begin(), calls.end(), [&one](const Collected& other) {
      return other.communicator == one.communicator && other.call.op == one.call.op &&
             !other.call.nobody_gives && other.call.peer == other.communicator->party->rank &&
             other.call.count == one.call.count && other.call.element == one.call.element;
    });
    // Who is alone has what it would get from one that is like it.
    one.call.nobody_gives = own == calls.end() && !Folded::get()->alone();
    if (own != calls.end()) one.call.send = own->call.send;
  }
}

void send_calls() {
  std::vector<Collected> calls = std::exchange(group_calls, {});
  give_for_absent_roots(calls);
  receive_for_absent_senders(calls);
  // Bytes before records: who is told that all have called finds them there.
  const bool captured = !calls.empty() && captures(calls.front().stream);
  if (!captured) bring_bytes(calls);
  Link::get().own_work(true);
  const std::uint32_t line = Link::get().number(calling_line());
  Link::get().own_work(false);
  for (const Collected& one : calls) {
    Work work{one.record};
    work.record.word[3] |= calls.size();
    work.record.signature = line;
    // They are one launch.
    if (&one != &calls.front()) work.record.duration_ns = 0;
    if (captured) work.dropped = one.communicator->dropped;
    // A graph brings them at each launch, with its first call.
    if (captured && &one == &calls.front()) work.effect = [calls] { bring_bytes(calls); };
    put(one.stream, std::move(work));
  }
}

}  // namespace

void send_or_collect(Communicator& communicator, const Call& call, const Record& record,
                     void* stream) {
  group_calls.push_back({&communicator, call, record, stream});
  if (group_depth == 0) send_calls();
}

void join_or_collect(const Communicator& communicator) {
  const Party& party = *communicator.party;
  Record record = record_on(nullptr, Act::kMakeGroup);
  record.device = static_cast<std::uint16_t>(communicator.device);
  record.signature = Link::get().number(party.name);
  record.word[0] = party.communicator;
  record.word[1] = static_cast<std::uint64_t>(party.rank);
  record.word[2] = static_cast<std::uint64_t>(party.size);
  group_joins.push_back(record);
  if (group_depth == 0) send_joins();
}

void begin_group() { ++group_depth; }

NcclStatus end_group() {
  if (group_depth == 0) return kNcclInvalidUsage;
  if (--group_depth > 0) return kNcclSuccess;
  if (!group_joins.empty()) send_joins();
  if (!group_calls.empty()) send_calls();
  return kNcclSuccess;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int ncclGroupStart() {
  begin_group();
  return kNcclSuccess;
}
FLOPCAST_API int ncclGroupEnd() { return end_group(); }
