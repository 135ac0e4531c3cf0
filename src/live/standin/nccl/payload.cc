#include "live/standin/nccl/payload.h"

#include <algorithm>
#include <iterator>

#include "live/standin/link/link.h"
#include "live/standin/nccl/reduce.h"
#include "live/standin/nccl/valid_parts.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// The question whether all have called.
Record settling(const Pending& pending) {
  const Party& party = *pending.party;
  Record record;
  record.act = Act::kSettle;
  record.word[0] = party.communicator;
  if (between_two(pending.call.op)) {
    record.word[1] = static_cast<std::uint64_t>(pending.call.peer + 1) << 32 |
                     static_cast<std::uint32_t>(party.rank + 1);
  }
  record.word[2] = pending.number;
  return record;
}

/// Where a call has what it gets.
std::vector<void*> places_of(const Call& call) {
  std::vector<void*> places{call.receive};
  places.insert(places.end(), call.copies.begin(), call.copies.end());
  return places;
}

}  // namespace

// --- the parts of a communicator ----------------------------------------------------------------

Party::Party(std::uint64_t number, std::string group, int own_rank, int members,
             std::vector<int> voices)
    : communicator(number),
      name(std::move(group)),
      rank(own_rank),
      size(members),
      to_all(chain_key(name, own_rank, kEverybody)),
      voices_(std::move(voices)) {
  std::map<int, std::size_t> known;
  for (int member = 0; member < size; ++member) {
    const int voice = voice_of(member);
    const auto [reader, made] = known.try_emplace(voice, all.readers.size());
    if (made) all.readers.emplace_back(chain_key(name, voice, kEverybody));
    reader_of.push_back(reader->second);
  }
}

Party::Queue& Party::queue_from(int member) {
  const auto [queue, made] = from.try_emplace(member);
  if (made) queue->second.readers.emplace_back(chain_key(name, member, rank));
  return queue->second;
}

Writer& Party::writer_to(int member) {
  return to.try_emplace(member, chain_key(name, rank, member)).first->second;
}

Party::Queue& Party::queue_of(const Pending& pending) {
  return between_two(pending.call.op) ? queue_from(pending.call.peer) : all;
}

// --- giving -------------------------------------------------------------------------------------

Payload::Payload() { LateBytes::set(this); }

Payload& Payload::get() {
  static Payload* const payload = new Payload;  // memory is freed while the process ends
  return *payload;
}

void Payload::prepare(const Party& party, const Call& call) {
  if (carries(call, party.size)) settle(call.send, bytes_given(call, party.rank, party.size));
  for (void* const place : places_of(call))
    overwrite(place, bytes_got(call, party.rank, party.size));
}

void Payload::give(Party& party, const Call& call) {
  const std::lock_guard guard(lock_);
  const bool sends = call.op == Collective::kSend, receives = call.op == Collective::kReceive;
  Party::Queue* const queue = sends      ? nullptr
                              : receives ? &party.queue_from(call.peer)
                                         : &party.all;
  const std::uint64_t number = queue ? queue->made++ : 0;
  Validity& validity = Validity::get();
  const std::size_t given = bytes_given(call, party.rank, party.size);
  const std::size_t got = bytes_got(call, party.rank, party.size);
  if (call.nobody_gives || !carries(call, party.size)) return validity.taint(call.receive, got);
  if (!receives) {
    const std::vector<LetterRange> valid = valid_parts(call, given);
    const auto* bytes = static_cast<const std::byte*>(call.send);
    std::vector<std::byte> scaled;
    if (!valid.empty() && !call.scalar.empty()) {
      scaled.resize(given);
      scale(call.element, bytes, call.scalar.data(), given / bytes_of(call.element), scaled.data());
      bytes = scaled.data();
    }
    Writer& writer = sends ? party.writer_to(call.peer) : party.to_all;
    writer.put(bytes, given, valid,
               sends ? 1 : static_cast<std::uint32_t>(party.all.readers.size()));
  }
  const std::vector<void*> places = places_of(call);
  for (void* const place : places) validity.taint(place, got);  // until it is there
  if (!queue) return;
  auto pending = std::make_unique<Pending>(Pending{&party, call, number});
  for (void* const place : places) {
    if (got > 0) want(*pending, place);
  }
  queue->calls.push_back(std::move(pending));
  if (std::find(parties_.begin(), parties_.end(), &party) == parties_.end())
    parties_.push_back(&party);
  bring_what_is_there();
}

// --- bringing -----------------------------------------------------------------------------------

void Payload::want(Pending& pending, void* at) {
  if (!wanted_.emplace(reinterpret_cast<std::uintptr_t>(at), &pending).second) return;
  pending.wanted.push_back(at);
  outstanding_.store(wanted_.size(), std::memory_order_release);
}

void Payload::unwant(Pending& pending, void* at) {
  std::erase(pending.wanted, at);
  wanted_.erase(reinterpret_cast<std::uintptr_t>(at));
  outstanding_.store(wanted_.size(), std::memory_order_release);
}

/// The first call of a queue, if its letters have all come.
bool Payload::bring_first(Party::Queue& queue) {
  Pending& pending = *queue.calls.front();
  Call& call = pending.call;
  const Party& party = *pending.party;
  const std::size_t got = bytes_got(call, party.rank, party.size);
  std::vector<Letter*> letters;
  bool valid = !queue.lost;
  const bool of_two = between_two(call.op);
  const std::size_t members = of_two ? 1 : party.reader_of.size();
  for (std::size_t member = 0; member < members && !queue.lost; ++member) {
    letters.push_back(queue.readers[of_two ? 0 : party.reader_of[member]].peek());
    if (!letters.back()) return false;
    // Of two ranks, one may send other than the other expects.
    valid = valid && (!of_two || letters.back()->bytes >= got);
  }
  while (!pending.wanted.empty()) {
    call.receive = pending.wanted.back();
    if (valid) deliver_letters(call, party.rank, letters);
    unwant(pending, call.receive);
  }
  if (!queue.lost) {
    for (Reader& reader : queue.readers) reader.pass();
  }
  queue.calls.pop_front();
  return true;
}

void Payload::bring_what_is_there() {
  const auto bring_queue = [this](Party::Queue& queue) {
    while (!queue.calls.empty() && bring_first(queue)) {
    }
    return queue.calls.empty();
  };
  std::erase_if(parties_, [&bring_queue](Party* party) {
    bool empty = bring_queue(party->all);
    for (auto& [member, queue] : party->from) empty = bring_queue(queue) && empty;
    return empty;
  });
}

std::pair<void*, Pending*> Payload::overlapping(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  auto found = wanted_.lower_bound(begin + bytes);
  if (found == wanted_.begin()) return {};
  const auto& [where, pending] = *--found;
  const Party& party = *pending->party;
  if (where + bytes_got(pending->call, party.rank, party.size) <= begin) return {};
  return {reinterpret_cast<void*>(where), pending};
}

void Payload::settle(const void* at, std::size_t bytes) {
  if (outstanding_.load(std::memory_order_acquire) == 0 || bytes == 0) return;
  const Pending* asked = nullptr;
  for (;;) {
    Record question;
    {
      const std::lock_guard guard(lock_);
      Pending* const pending = overlapping(at, bytes).second;
      if (!pending) return;
      Party::Queue& queue = pending->party->queue_of(*pending);
      if (bring_first(queue)) continue;
      // All have called, and yet a letter is not there: its writer had no room for it.
      queue.lost = asked == queue.calls.front().get();
      if (queue.lost) continue;
      asked = queue.calls.front().get();
      question = settling(*asked);
    }
    // Without the lock: others go on.
    Link::get().consult(question);
  }
}

void Payload::overwrite(const void* at, std::size_t bytes) {
  if (outstanding_.load(std::memory_order_acquire) == 0 || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  {
    const std::lock_guard guard(lock_);
    for (;;) {
      const auto [place, pending] = overlapping(at, bytes);
      if (!pending) break;
      const auto where = reinterpret_cast<std::uintptr_t>(place);
      const Party& party = *pending->party;
      const std::size_t got = bytes_got(pending->call, party.rank, party.size);
      if (where < begin || where + got > begin + bytes) break;
      unwant(*pending, place);
    }
  }
  // What it overwrites only in part has to be there before.
  settle(at, bytes);
}

// --- ends ---------------------------------------------------------------------------------------

void Payload::retire(std::unique_ptr<Party> party) {
  const std::lock_guard guard(lock_);
  retired_.push_back(std::move(party));
  bring_what_is_there();
  drop_retired();
}

/// A communicator that has brought everything and whose letters all have been read.
void Payload::drop_retired() {
  std::erase_if(retired_, [this](const std::unique_ptr<Party>& party) {
    if (std::find(parties_.begin(), parties_.end(), party.get()) != parties_.end()) return false;
    for (Reader& reader : party->all.readers) reader.leave();
    for (auto& [member, queue] : party->from) queue.readers.front().leave();
    bool read = party->to_all.clean(true);
    for (auto& [member, writer] : party->to) read = writer.clean(true) && read;
    return read;
  });
}

}  // namespace flopcast::live
