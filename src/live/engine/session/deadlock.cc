// Who waits for whom, when nobody can go on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

std::string_view name_of_element(std::uint64_t kind) {
  static constexpr std::string_view kNames[] = {"int8",  "uint8",  "int32",    "uint32",
                                                "int64", "uint64", "fp16",     "fp32",
                                                "fp64",  "bf16",   "fp8 e4m3", "fp8 e5m2"};
  const std::size_t index = kind & 0xff;
  return index < std::size(kNames) ? kNames[index] : "unknown type";
}
std::string_view name_of_reduction(std::uint64_t kind) {
  static constexpr std::string_view kNames[] = {"sum", "product", "max",
                                                "min", "average", "scaled sum"};
  const std::size_t index = kind >> 8;
  return index < std::size(kNames) ? kNames[index] : "unknown reduction";
}

/// "0-3, 7"
std::string listed(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}
std::string ranks_in_words(const std::vector<std::int32_t>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", listed(ranks));
}

bool reduces(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kReduce ||
         op == Collective::kReduceScatter;
}
bool has_root(Collective op) {
  return op == Collective::kBroadcast || op == Collective::kReduce || op == Collective::kGather ||
         op == Collective::kScatter;
}

}  // namespace

std::string_view word_for(Collective op) {
  static constexpr std::string_view kNames[] = {
      "all_reduce", "broadcast",  "reduce", "all_gather", "reduce_scatter", "send",
      "receive",    "all_to_all", "gather", "scatter",    "barrier"};
  const auto index = static_cast<std::size_t>(op);
  return index < std::size(kNames) ? kNames[index] : "unknown operation";
}

/// "all_reduce (fp32 sum, 16 bytes), call 3 of communicator 0 of ranks 0-3"
std::string Session::State::text_of_call(const CallKey& key, const Comer& comer) const {
  const Collective op = op_of(comer.op);
  const std::vector<std::int32_t>& ranks = groups[key.group].ranks;
  std::string what(name_of_element(comer.kind));
  if (reduces(op)) what += fmt::format(" {}", name_of_reduction(comer.kind));
  if (has_root(op)) what += fmt::format(", root {}", static_cast<std::uint32_t>(comer.op));
  if (key.from != CallKey::kAll && std::max(key.from, key.to) < ranks.size())
    what += fmt::format(", rank {} to {}", ranks[key.from], ranks[key.to]);
  return fmt::format("{} ({}, {} bytes), call {} of communicator {} of {}", word_for(op), what,
                     comer.bytes, key.number, key.group, ranks_in_words(ranks));
}

/// " (train.py:41)": where these ranks called it; nothing where that is not known.
std::string Session::State::lines_of(const Meeting& meeting,
                                     const std::vector<std::int32_t>& ranks) const {
  constexpr std::size_t kMost = 4;
  std::set<std::string_view> lines;
  for (const Comer& comer : meeting.come) {
    const bool asked = std::find(ranks.begin(), ranks.end(), comer.rank) != ranks.end();
    if (asked && !names[comer.line].empty()) lines.insert(names[comer.line]);
  }
  if (lines.empty()) return {};
  if (lines.size() > kMost) return fmt::format(" (at {} lines)", lines.size());
  return fmt::format(" ({})", fmt::join(lines, ", "));
}

std::string Session::State::deadlock() const {
  std::string text;
  std::map<std::int32_t, bool> missed;
  const auto keep_there = [this](std::vector<std::int32_t>& ranks) {
    std::erase_if(ranks,
                  [this](std::int32_t rank) { return rank >= 0 && !folding.is_there(rank); });
  };
  const auto tell = [&](const Meeting& meeting) {
    std::vector<std::int32_t> there, behind, missing = meeting.what.ranks;
    for (const Comer& comer : meeting.come) {
      (run.settled(comer.arrival) ? there : behind).push_back(comer.rank);
      std::erase(missing, comer.rank);
    }
    // As the meeting has it: a send, whichever side has come.
    Comer call = meeting.come.front();
    call.op = static_cast<std::uint64_t>(meeting.what.op) << 32 | (call.op & 0xffffffff);
    text += text_of_call(meeting.key, call);
    if (!there.empty()) {
      text += fmt::format("; {} {} in it{}", ranks_in_words(there),
                          there.size() == 1 ? "waits" : "wait", lines_of(meeting, there));
    }
    if (!behind.empty()) {
      text += fmt::format("; {} called it behind work that has not ended{}", ranks_in_words(behind),
                          lines_of(meeting, behind));
    }
    keep_there(missing);
    if (!missing.empty()) text += fmt::format("; {} never called it", ranks_in_words(missing));
    text += '\n';
    for (const std::int32_t rank : missing) missed[rank] = true;
  };
  // In the order of communicators and calls, whatever the tables' is.
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>, const Meeting*>
      all;
  const auto add = [&all](const Meeting& meeting) {
    const CallKey& key = meeting.key;
    all[{key.group, key.number, key.from, key.to}] = &meeting;
  };
  for (const auto& [key, meeting] : meetings) add(meeting);
  for (const auto& [transfer, meeting] : to_begin) add(meeting);
  for (const auto& [key, meeting] : all) tell(*meeting);
  for (const auto& [key, splitting] : splittings) {
    std::vector<std::int32_t> missing = groups[key.group].ranks;
    for (const Splitting::Part& part : splitting.parts) std::erase(missing, part.chip);
    keep_there(missing);
    for (const std::int32_t rank : missing) missed[rank] = true;
    text += fmt::format("split of communicator {} of {}; {} never called it\n", key.group,
                        ranks_in_words(groups[key.group].ranks), ranks_in_words(missing));
  }
  for (std::size_t index = 0; index < groups.size(); ++index) {
    const std::vector<std::int32_t>& ranks = groups[index].ranks;
    std::vector<std::int32_t> came, missing;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      (groups[index].come[rank] ? came : missing).push_back(ranks[rank]);
    if (came.empty() || came.size() == groups[index].there) continue;
    text += fmt::format("communicator {} of {} ranks is made by {} alone\n", index, ranks.size(),
                        ranks_in_words(came));
    keep_there(missing);
    for (const std::int32_t rank : missing) missed[rank] = true;
  }
  for (const Process& process : processes) {
    for (const auto& [number, thread] : process.threads) {
      if (thread.doing != Doing::kWaits && thread.doing != Doing::kSettles) continue;
      text += fmt::format("rank {}, thread {}: {}\n", process.rank, number,
                          thread.doing == Doing::kSettles ? "reads what a collective brings"
                                                          : names[run.name(thread.last)]);
    }
    const bool ended = std::all_of(process.threads.begin(), process.threads.end(),
                                   [](auto& one) { return one.second.doing == Doing::kEnded; });
    if (ended && missed.contains(process.rank))
      text += fmt::format("rank {} has ended\n", process.rank);
  }
  return text;
}

}  // namespace flopcast::live
