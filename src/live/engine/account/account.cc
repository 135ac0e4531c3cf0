#include "live/engine/account/account.h"

#include <algorithm>

namespace flopcast::live {
namespace {

/// Copies and fills stand in a sequence of kernels by kind and size, as numbers that no name has.
std::uint32_t number_of_copy(const TaskNote& note) {
  constexpr std::uint32_t kNoName = 0x80000000U;
  const std::uint64_t kind = note.bytes * 16 + note.detail * 2U + (note.act == Act::kFill ? 1 : 0);
  return kNoName | static_cast<std::uint32_t>((kind * 0x9e3779b97f4a7c15U) >> 33);
}

/// What an optimizer does is a step whatever else goes on; then what the script calls one. What repeats may be anything, so
/// it counts only where there is neither.
void find_steps(const StepMarks& marks, const StepFinder& finder, LiveRank& out) {
  const std::vector<OptimizerStep> optimizers = marks.optimizers();
  if (!optimizers.empty()) {
    out.steps_by = LiveStepsBy::kOptimizer;
    out.steps = finder.by_optimizer(optimizers);
  }
  if (out.steps.empty() && !marks.marked().empty()) {
    out.steps_by = LiveStepsBy::kMarks;
    out.steps = finder.between(marks.marked());
  }
  if (out.steps_by != LiveStepsBy::kNothing) return;
  out.steps = finder.by_repetition();
  if (!out.steps.empty()) out.steps_by = LiveStepsBy::kRepetition;
}

/// A signature without its sizes: numbers, and words of tensors ("bf16:8x4096").
std::string words_without_sizes(std::string_view signature) {
  std::string kind;
  while (!signature.empty()) {
    const std::string_view word = signature.substr(0, signature.find(' '));
    signature.remove_prefix(std::min(word.size() + 1, signature.size()));
    const std::size_t colon = word.find(':');
    const bool is_tensor = colon != word.npos && word.substr(colon).find("::") != 0;
    const bool is_number = !word.empty() && word.front() >= '0' && word.front() <= '9';
    if (!is_tensor && !is_number) kind += std::string(word) + ' ';
  }
  return kind;
}

}  // namespace

std::uint32_t Account::kind_of(std::uint32_t name, std::string_view text) {
  const auto [known, is_new] = kinds_.try_emplace(name, 0);
  if (is_new) {
    known->second =
        kinds_by_words_
            .try_emplace(words_without_sizes(text), static_cast<std::uint32_t>(kinds_.size()))
            .first->second;
  }
  return known->second;
}

void Account::add(const ToldTask& told, const Processor& on, std::string_view name) {
  ++tasks_;
  // Whether a sleep ends before its process does, only the session knows.
  end_ = std::max(end_, told.note.act == Act::kSleep ? told.task.start : told.task.end);
  if (on.kind == Processor::Kind::kHub) return;
  Rank& rank = ranks_[on.rank];
  const auto [start, end] = std::pair(told.task.start, told.task.end);
  switch (told.task.kind) {
    case TaskKind::kCompute:
      rank.activity.add(Activity::Of::kCompute, start, end);
      rank.streams[on.id].work(told.task.name, kind_of(told.task.name, name), start, end,
                               told.note.launcher);
      ++rank.kernels[on.id];
      break;
    case TaskKind::kTransfer:
      rank.activity.add(Activity::Of::kCommunication, start, end);
      break;
    case TaskKind::kCopy:
      rank.activity.add(Activity::Of::kCopy, start, end);
      rank.streams[on.id].work(number_of_copy(told.note), number_of_copy({.act = told.note.act}),
                               start, end, told.note.launcher);
      break;
    case TaskKind::kSync:
      rank.activity.add(Activity::Of::kHostWait, start, end);
      break;
    case TaskKind::kLaunch:
      rank.marks.launch(told.task.processor);
      break;
    default:
      if (told.note.act == Act::kMark)
        rank.marks.mark(name, told.note.detail == 1, told.task.task, told.task.processor);
  }
}

std::vector<LiveRank> Account::ranks() const {
  std::vector<LiveRank> all;
  for (const auto& [number, rank] : ranks_) {
    LiveRank& out = all.emplace_back();
    out.rank = number;
    out.times = rank.activity.times();
    for (const auto& [stream, kernels] : rank.kernels) out.kernels += kernels;
    // The stream that has most to do says best what repeats.
    const auto busiest = std::max_element(
        rank.streams.begin(), rank.streams.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (busiest != rank.streams.end()) find_steps(rank.marks, busiest->second, out);
  }
  return all;
}

}  // namespace flopcast::live
