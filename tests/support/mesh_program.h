// Programs by chance whose ranks are a mesh of stages, data and tensors, and who of them may stand for others.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "live/engine/session/folding.h"
#include "live/wire/ranks.h"
#include "support/session_script.h"

namespace flopcast::test {

/// All ranks alike.
inline Folding of_one_kind(std::size_t ranks, const std::vector<std::int32_t>& there) {
  Folding folding;
  folding.alike.assign(ranks, 0);
  folding.there.assign(ranks, false);
  for (const std::int32_t rank : there) folding.there[static_cast<std::size_t>(rank)] = true;
  return folding;
}

/// Programs need some length to show anything: of their first cases, too.
template <class Number>
Number pick(Number from, Number to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(from, to));
}

/// A program of any mesh of stages, data and tensors: what its ranks do in the groups of its dimensions, and between stages.
class MeshProgram {
 public:
  static constexpr std::uint64_t kWorld = 77;

  MeshProgram() {
    sizes_ = {pick<std::size_t>(1, 4), pick<std::size_t>(1, 5), pick<std::size_t>(1, 4)};
    if (ranks() < 2) sizes_[kData] = 2;
    script_.resize(ranks());
    calls_.resize(ranks());
    for (std::uint64_t group = kWorld; group <= kWorld + 3; ++group) make(group);
    for (int n = pick(1, 30); n > 0; --n) step();
    for (auto& one : script_) one.push_back(wait_device());
  }

  std::size_t ranks() const { return sizes_[0] * sizes_[1] * sizes_[2]; }
  std::vector<Record> of(std::int32_t rank) const {
    return script_[static_cast<std::size_t>(rank)];
  }
  /// Communicators are named by their dimension and their first rank.
  Named named(std::int32_t rank, std::uint64_t group) const {
    const std::vector<std::int32_t> members = group_of(group, static_cast<std::size_t>(rank));
    return {std::to_string(group) + "." + std::to_string(members.front()), text_of_ranks(members)};
  }
  /// Stages are alike; of data and tensors some are there, and of each group the first.
  Folding folding() const {
    Folding folding = of_one_kind(ranks(), {0});
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      folding.alike[rank] = static_cast<std::uint32_t>(place(rank, kStage));
    for (std::size_t data = 0; data < sizes_[kData]; ++data) {
      for (std::size_t tensor = 0; tensor < sizes_[kTensor]; ++tensor) {
        if (data + tensor > 0 && pick(0, 3) > 0) continue;
        for (std::size_t stage = 0; stage < sizes_[kStage]; ++stage) {
          for (const std::size_t d : {std::size_t{0}, data}) {
            for (const std::size_t t : {std::size_t{0}, tensor})
              folding.there[number(stage, d, t)] = true;
          }
        }
      }
    }
    return folding;
  }

 private:
  enum Dimension { kStage, kData, kTensor };

  std::size_t number(std::size_t stage, std::size_t data, std::size_t tensor) const {
    return (stage * sizes_[kData] + data) * sizes_[kTensor] + tensor;
  }
  std::size_t place(std::size_t rank, Dimension in) const {
    const std::size_t step = in == kStage  ? sizes_[kData] * sizes_[kTensor]
                             : in == kData ? sizes_[kTensor]
                                           : 1;
    return rank / step % sizes_[in];
  }
  std::vector<std::int32_t> group_of(std::uint64_t group, std::size_t rank) const {
    std::vector<std::int32_t> members;
    for (std::size_t other = 0; other < ranks(); ++other) {
      bool is_in = true;
      for (const Dimension in : {kStage, kData, kTensor})
        is_in = is_in && (group == kWorld || group == kWorld + 1 + in ||
                          place(other, in) == place(rank, in));
      if (is_in) members.push_back(static_cast<std::int32_t>(other));
    }
    return members;
  }

  void make(std::uint64_t group) {
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      const std::vector<std::int32_t> members = group_of(group, rank);
      if (members.size() < 2) return;
      const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
      Record record = communicator(static_cast<std::uint64_t>(own), members.size());
      record.word[0] = group;
      script_[rank].push_back(record);
      record = wait_group();
      record.word[0] = group;
      script_[rank].push_back(record);
    }
  }
  void say(std::size_t rank, std::uint64_t group, Record record) {
    record.word[0] = group;
    script_[rank].push_back(record);
  }

  /// Something that ranks of a stage do, or all of them; or the first rank by itself.
  void step() {
    const auto stage = pick<std::size_t>(0, sizes_[kStage]);
    const auto group = pick<std::uint64_t>(kWorld, kWorld + 3);
    const auto kind = pick(0, 9);
    if (kind == 0) {
      script_[0].push_back(any_work());
    } else if (kind == 1) {
      send(stage);
    } else if (kind < 6) {
      const bool of_stages = group == kWorld || group == kWorld + 1;
      const Record record = any_collective();
      const bool settles = pick(0, 3) == 0, by_pairs = pick(0, 4) == 0;
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        if (of_stages || place(rank, kStage) == stage)
          meet(rank, group == kWorld ? group : group + 1, record, by_pairs, settles);
      }
    } else {
      const Record record = any_work();
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        if (place(rank, kStage) == stage) script_[rank].push_back(record);
      }
    }
  }
  /// No question whether something is done: one asked at the very moment at which it ends may hang on ranks that are not there.
  static Record any_work() {
    while (true) {
      const Record record = any_call();
      if (record.act != Act::kCollective && record.act != Act::kAskEvent) return record;
    }
  }
  static Record any_collective() {
    const Collective op =
        *rc::gen::element(Collective::kAllReduce, Collective::kBroadcast, Collective::kAllGather,
                          Collective::kReduceScatter, Collective::kAllToAll);
    return collective(op, pick<std::uint64_t>(1, 40), pick<std::uint64_t>(0, 3));
  }
  /// In its group of this dimension: one call of all, or a send to and a receive from each other one; as who gathers objects, it may
  /// wait for them and want their bytes.
  void meet(std::size_t rank, std::uint64_t group, const Record& record, bool by_pairs,
            bool settles) {
    const std::vector<std::int32_t> members = group_of(group, rank);
    if (members.size() < 2) return;
    if (by_pairs && group > kWorld + 1) {
      for (std::size_t peer = 0; peer < members.size(); ++peer) {
        if (static_cast<std::size_t>(members[peer]) == rank) continue;
        for (const Collective op : {Collective::kSend, Collective::kReceive})
          say(rank, group,
              collective(op, record.word[2], record.stream, peer, 2 * (members.size() - 1)));
      }
      return;
    }
    say(rank, group, record);
    const std::uint64_t call_number = calls_[rank][group]++;
    if (!settles) return;
    script_[rank].push_back(wait_device());
    Record wants = call(Act::kSettle);
    wants.flags = kAnswerWanted;
    wants.word[2] = call_number;
    say(rank, group, wants);
  }
  /// To the next stage, which may send something back at once.
  void send(std::size_t stage) {
    if (stage + 1 >= sizes_[kStage]) return;
    const auto bytes = pick<std::uint64_t>(1, 40);
    const auto stream = pick<std::uint64_t>(0, 3);
    const bool both = *rc::gen::arbitrary<bool>(), forward = *rc::gen::arbitrary<bool>();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      const std::size_t own = place(rank, kStage);
      if (own != stage && own != stage + 1) continue;
      const std::size_t peer = own == stage ? stage + 1 : stage;
      const bool sends = (own == stage) == forward;
      for (const bool is_send : {sends, !sends}) {
        if (is_send == sends || both)
          say(rank, kWorld + 1,
              collective(is_send ? Collective::kSend : Collective::kReceive, bytes, stream, peer,
                         both ? 2 : 1));
      }
    }
  }

  std::array<std::size_t, 3> sizes_{};
  Script script_;
  std::vector<std::map<std::uint64_t, std::uint64_t>> calls_;  // by rank and group
};

/// Those who are there play it in a session that has this folding.
class MeshPlay {
 public:
  MeshPlay(const MeshProgram& program, const Folding& who) : program_(program) {
    for (std::int32_t rank = 0; static_cast<std::size_t>(rank) < program.ranks(); ++rank) {
      if (!who.is_there(rank)) continue;
      there_.push_back(rank);
      script_.push_back(program.of(rank));
    }
  }
  const std::vector<std::int32_t>& there() const { return there_; }
  const Script& script() const { return script_; }
  /// What each is told, by rank.
  std::map<std::int32_t, Announced::value_type> run(Session& session, std::mt19937& random,
                                                    const Killed& killed = {}) const {
    const auto named = [this](std::size_t line, std::uint64_t group) {
      return program_.named(there_[line], group);
    };
    const Announced told = play(script_, session, random, named, killed);
    std::map<std::int32_t, Announced::value_type> by_rank;
    for (std::size_t line = 0; line < there_.size(); ++line) by_rank[there_[line]] = told[line];
    return by_rank;
  }

 private:
  const MeshProgram& program_;
  std::vector<std::int32_t> there_;
  Script script_;
};

}  // namespace flopcast::test
