// What a live run's processes might tell a session: records by hand, and scripts by chance.
#pragma once

#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "live/engine/session/session.h"

namespace flopcast::test {

using namespace flopcast::live;

constexpr Time us(std::int64_t n) { return Time::from_us(n); }

inline const HostTimes kTimes{us(4), us(3), us(5)};

inline Record call(Act act, std::int64_t gap = 1, std::int64_t lasts = 1) {
  Record record;
  record.act = act;
  record.gap_ns = gap * 1000;
  record.duration_ns = static_cast<std::uint32_t>(lasts * 1000);
  return record;
}
inline Record kernel(std::uint64_t stream, std::uint64_t takes) {
  Record record = call(Act::kKernel);
  record.stream = stream;
  record.word[0] = takes;
  return record;
}
inline Record with_event(Act act, std::uint64_t event, std::uint64_t stream = 0) {
  Record record = call(act);
  record.word[0] = event;
  record.stream = stream;
  const bool answered = act == Act::kWaitEvent || act == Act::kAskEvent || act == Act::kElapsed;
  record.flags = answered ? kAnswerWanted : 0;
  return record;
}
inline Record wait_device() {
  Record record = call(Act::kWaitDevice);
  record.flags = kAnswerWanted;
  return record;
}
inline Record communicator(std::uint64_t rank, std::uint64_t size) {
  Record record = call(Act::kMakeGroup);
  record.word[0] = 77;
  record.word[1] = rank;
  record.word[2] = size;
  return record;
}
inline Record wait_group() {
  Record record = call(Act::kWaitGroup);
  record.flags = kAnswerWanted;
  record.word[0] = 77;
  return record;
}
inline Record collective(Collective op, std::uint64_t bytes, std::uint64_t stream,
                         std::uint64_t peer = 0, std::uint64_t calls = 1) {
  Record record = call(Act::kCollective);
  record.stream = stream;
  record.word[0] = 77;
  record.word[1] = static_cast<std::uint64_t>(op) << 32 | peer;
  record.word[2] = bytes;
  record.word[3] = calls;
  return record;
}

/// What each rank's one thread does; those that want an answer wait for it.
using Script = std::vector<std::vector<Record>>;
/// Times at which waits are over, and what questions are told, by rank.
using Announced = std::vector<std::vector<std::tuple<Time, std::uint32_t, std::uint64_t>>>;

/// A kernel more often than other calls.
inline Record any_call() {
  const auto stream = [] { return *rc::gen::inRange<std::uint64_t>(0, 3); };
  const auto amount = [] { return *rc::gen::inRange<std::uint64_t>(1, 40); };
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return with_event(Act::kRecordEvent, stream(), stream());
    case 1:
      return with_event(Act::kStreamWaitsEvent, stream(), stream());
    case 2:
      return with_event(Act::kWaitEvent, stream());
    case 3: {
      Record asks = with_event(Act::kAskEvent, stream());
      asks.gap_ns =
          1000 * static_cast<std::uint32_t>(amount());  // what is under way ends meanwhile
      return asks;
    }
    case 4:
      return wait_device();
    case 5:
      return collective(Collective::kAllReduce, amount(), stream());
    default:
      return kernel(stream(), amount());
  }
}

inline Script any_script() {
  const auto ranks = *rc::gen::inRange<std::size_t>(1, 4);
  Script script(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    script[r].push_back(communicator(r, ranks));
    script[r].push_back(wait_group());
  }
  for (int n = *rc::gen::inRange(0, 40); n > 0; --n) {
    const Record record = any_call();
    if (record.act == Act::kCollective) {
      for (auto& one : script) one.push_back(record);
    } else {
      script[*rc::gen::inRange<std::size_t>(0, ranks)].push_back(record);
    }
  }
  return script;
}

/// A communicator as one who makes it names it, and the ranks that it is told to be of; empty: that is not told.
struct Named {
  std::string id, ranks;
};
/// By the place of who makes it in the script, and its number there.
using Namer = std::function<Named(std::size_t, std::uint64_t)>;

inline Named of_all(std::size_t, std::uint64_t) { return {"id", ""}; }

/// A process of the script is lost when it has said so many of its records, though it waits for an answer.
struct Killed {
  std::size_t line = ~std::size_t{0}, after = 0;
};

/// Ranks speak in any order; what was written is heard before anybody is answered.
inline Announced play(const Script& script, Session& session, std::mt19937& random,
                      const Namer& name_of = of_all, const Killed& killed = {}) {
  std::vector<std::size_t> at(script.size(), 0);
  std::vector<std::uint32_t> said(script.size(), 0);
  std::vector<bool> waits(script.size(), false);
  Announced told(script.size());
  for (std::size_t r = 0; r < script.size(); ++r)
    session.add_process(static_cast<std::int32_t>(script[r].front().word[1]));
  while (true) {
    std::vector<std::size_t> speak;
    for (std::size_t r = 0; r < script.size(); ++r) {
      if (!waits[r] && at[r] < script[r].size()) speak.push_back(r);
    }
    if (!speak.empty()) {
      const std::size_t r = speak[random() % speak.size()];
      Record record = script[r][at[r]++];
      waits[r] = (record.flags & kAnswerWanted) != 0;
      Named named{"id", ""};
      if (record.act == Act::kMakeGroup) named = name_of(r, record.word[0]);
      if (!named.ranks.empty()) {
        Record says = call(Act::kMembers, 0, 0);
        says.number = said[r]++;
        says.word[0] = record.word[0];
        RC_ASSERT(!session.take(static_cast<std::uint32_t>(r), 0, says, named.ranks));
      }
      record.number = said[r]++;
      RC_ASSERT(!session.take(static_cast<std::uint32_t>(r), 0, record, named.id));
      if (r == killed.line && at[r] == killed.after) {
        at[r] = script[r].size();
        waits[r] = false;
      }
      if (at[r] == script[r].size() && !waits[r]) session.lose(static_cast<std::uint32_t>(r));
    }
    const bool answer = speak.empty() || random() % 3 == 0;
    if (!answer) continue;
    const std::vector<SessionAnswer> answers = session.advance();
    for (const SessionAnswer& one : answers) {
      told[one.process].emplace_back(one.at, one.status, one.value);
      waits[one.process] = false;
      if (at[one.process] == script[one.process].size()) session.lose(one.process);
    }
    if (speak.empty() && answers.empty()) return told;
  }
}

}  // namespace flopcast::test
