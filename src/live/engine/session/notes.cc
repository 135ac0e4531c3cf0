// What is kept of records until their tasks are given to whoever shows the run.
#include <algorithm>
#include <map>

#include "live/engine/session/state.h"

namespace flopcast::live {

std::uint32_t Session::State::keep_note(const TaskNote& note) {
  if (free_notes.empty()) {
    notes.push_back(note);
    return static_cast<std::uint32_t>(notes.size() - 1);
  }
  const std::uint32_t place = free_notes.back();
  free_notes.pop_back();
  notes[place] = note;
  return place;
}

std::uint32_t Session::State::note_of(const Record& record, GrowingTask launcher,
                                      const RecordedEvent& event) {
  TaskNote note{.act = record.act,
                .device = record.device,
                .launcher = launcher,
                .stream = record.stream,
                .recorder = event.call,
                .recorded_on = event.stream};
  switch (record.act) {
    case Act::kKernel:
      note.blocks = record.word[0];
      note.threads = static_cast<std::uint32_t>(record.word[1]);
      break;
    case Act::kCopy:
      note.bytes = record.word[0];
      note.detail = static_cast<std::uint8_t>(record.word[1]);
      break;
    case Act::kFill:
      note.bytes = record.word[0];
      break;
    case Act::kCollective:
      note.bytes = record.word[2];
      note.detail = static_cast<std::uint8_t>(record.word[1] >> 32);
      break;
    case Act::kRecordEvent:
    case Act::kStreamWaitsEvent:
    case Act::kWaitEvent:
      note.event = record.word[0];
      break;
    case Act::kMark:
      note.detail = static_cast<std::uint8_t>(record.word[0]);
      break;
    default:
      break;
  }
  return keep_note(note);
}

std::vector<ToldTask> Session::take_settled(Time before) {
  const std::vector<SettledTask> settled = state_->run.take_settled(before);
  std::vector<ToldTask> told;
  told.reserve(settled.size());
  for (const SettledTask& task : settled) {
    told.push_back({task, state_->notes[task.note]});
    if (task.note != 0) state_->free_notes.push_back(task.note);
  }
  return told;
}

std::size_t Session::waiting() const {
  std::map<std::int32_t, bool> waits;  // by rank, of those that live
  for (const Process& process : state_->processes) {
    if (process.child || !state_->lives(process.rank)) continue;
    bool& all = waits.try_emplace(process.rank, true).first->second;
    for (const auto& [number, thread] : process.threads)
      all = all && (thread.doing != Doing::kRuns || thread.helper);
  }
  return static_cast<std::size_t>(
      std::count_if(waits.begin(), waits.end(), [](const auto& one) { return one.second; }));
}

}  // namespace flopcast::live
