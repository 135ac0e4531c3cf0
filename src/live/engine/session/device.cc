// Streams and events of a device: what is put on them, and what waits for what.
#include <algorithm>
#include <cmath>
#include <utility>

#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

constexpr std::uint64_t kDefaultStream = 0;

}  // namespace

Stream& Session::State::stream_of(Process& process, std::uint16_t device, std::uint64_t number) {
  const auto [found, made] = process.streams.try_emplace({device, number});
  if (made) {
    // A stream is told apart by its device and number; ids of tracks are small for people.
    const auto id = static_cast<std::int64_t>(process.instance) << 48 |
                    static_cast<std::int64_t>(device) << 32 | static_cast<std::int64_t>(number);
    found->second.track = run.add_processor(Processor::Kind::kStream, process.rank, id);
    found->second.number = number;
  }
  return found->second;
}

/// Puts a task at the end of a stream: behind its call, the events that the stream was told to wait
/// for, and the default stream or (on that one) all streams that heed it.
GrowingTask Session::State::on_stream(Process& process, std::uint16_t device, Stream& stream,
                                      GrowingTask call, const NewTask& task) {
  scratch.assign(1, {call, times.launch, EdgeKind::kLaunch, true});
  scratch.insert(scratch.end(), stream.next.begin(), stream.next.end());
  std::vector<const Stream*>& heeding = process.heeding[device];
  for (const Stream* const other : heeding) {
    const bool one_is_default = stream.number == kDefaultStream || other->number == kDefaultStream;
    if (other != &stream && one_is_default && stream.blocking && other->blocking) {
      scratch.push_back({other->last, Time{}, EdgeKind::kStream});
    }
  }
  if (stream.blocking && !std::exchange(stream.heeds, true)) heeding.push_back(&stream);
  stream.last = run.add(task, scratch);
  for (const Dependency& dependency : stream.next) run.let_go(dependency.source);
  stream.next.clear();
  return stream.last;
}

std::vector<GrowingTask> Session::State::ends_of_device(const Process& process,
                                                        std::uint16_t device) const {
  std::vector<GrowingTask> ends;
  for (const auto& [at, stream] : process.streams) {
    if (at.first == device && stream.last != kNoGrowingTask) ends.push_back(stream.last);
  }
  return ends;
}

/// The call that put work on a stream. What a graph holds was put there by the graph's launch.
GrowingTask Session::State::call_of(Thread& thread, const Record& record, std::uint32_t name,
                                    const RecordedEvent& event) {
  if ((record.flags & kOfGraph) != 0 && thread.last != kNoGrowingTask) return thread.last;
  return host_task(thread, record, TaskKind::kLaunch, name, {}, event);
}

/// Somebody will ask for its times.
void Session::State::watch(Process& process, const Record& record, GrowingTask task) {
  if ((record.flags & kWatched) == 0) return;
  run.keep(task);
  process.watched[record.number] = task;
}

Question Session::State::span_of(const Process& process, const Record& record) {
  Question question;
  question.kind = record.word[1] == 0 ? Question::Kind::kStart : Question::Kind::kEnd;
  const auto watched = process.watched.find(static_cast<std::uint32_t>(record.word[0]));
  if (watched != process.watched.end()) question.about.push_back(watched->second);
  return question;
}

/// A kernel beside a transfer has less of the chip. Which kernels those are is not known when they are launched: the
/// next ones after the call, until the thread waits. And where chips of many nodes wait for each other, the slowest sets the pace.
Time Session::State::slowed(Process& process, Time alone) const {
  if (process.nodes > 1) {
    const double doublings = std::log2(static_cast<double>(process.nodes));
    alone.ps +=
        static_cast<std::int64_t>(static_cast<double>(alone.ps) * work.straggling() * doublings);
  }
  const double share = work.contention();
  const auto whole = static_cast<std::int64_t>(static_cast<double>(alone.ps) / (1 - share));
  const Time beside{std::min(whole, process.beside.ps)};
  process.beside = process.beside - beside;
  return alone + Time{static_cast<std::int64_t>(static_cast<double>(beside.ps) * share)};
}

/// Whether a kernel is one of those that wait for each other: products, from when on a second stream of the device has any.
bool Session::State::takes_turns(Process& process, const Record& record,
                                 std::string_view signature) {
  if (!work.fills_chip(record, signature)) return false;
  ProductStreams& streams =
      process.products.try_emplace(record.device, ProductStreams{record.stream}).first->second;
  streams.several = streams.several || streams.first != record.stream;
  return streams.several;
}

/// A kernel, copy, fill or function of the application's; the thread may wait for a copy.
void Session::State::put(Process& process, Thread& thread, const Record& record,
                         std::string_view signature) {
  const bool kernel = record.act == Act::kKernel;
  const std::uint32_t name = names.intern(signature);
  const GrowingTask call = call_of(thread, record, name);
  Stream& stream = stream_of(process, record.device, record.stream);
  const Time duration = kernel ? slowed(process, work.kernel(record, signature))
                        : record.act == Act::kHostWork ? times.host_function
                                                       : work.copy(record);
  NewTask task{stream.track, kernel ? TaskKind::kCompute : TaskKind::kCopy, name, duration};
  task.note = note_of(record, call);
  task.ends_later = kernel && takes_turns(process, record, signature);
  const GrowingTask made = on_stream(process, record.device, stream, call, task);
  if (task.ends_later) {
    const auto chip = static_cast<std::uint32_t>(chip_of(process, record.device));
    products.emplace(made,
                     Product{std::uint64_t{process.number} << 32 | record.number, chip, duration});
  }
  if (record.act != Act::kHostWork) runs_on_chip(process, record.device, made, kernel);
  watch(process, record, made);
  if ((record.flags & kAnswerWanted) == 0) return;
  Record wait;
  wait.act = record.act;
  wait.flags = kAnswerWanted;
  wait.device = record.device;
  wait.stream = record.stream;
  wait_for(thread, wait, signature, {made});
}

void Session::State::record_event(Process& process, Thread& thread, const Record& record) {
  const GrowingTask call = call_of(thread, record, names.intern("record event"));
  Stream& stream = stream_of(process, record.device, record.stream);
  const NewTask task{stream.track, TaskKind::kEvent, names.intern("event")};
  const GrowingTask made = on_stream(process, record.device, stream, call, task);
  run.keep(made);
  const bool of_graph = (record.flags & kOfGraph) != 0;
  RecordedEvent& event = process.events[record.word[0]];
  if (event.task != kNoGrowingTask) run.let_go(event.task);
  event = {made, of_graph ? kNoGrowingTask : call, record.stream};
}

void Session::State::stream_waits(Process& process, Thread& thread, const Record& record) {
  const auto found = process.events.find(record.word[0]);
  const RecordedEvent event = found == process.events.end() ? RecordedEvent() : found->second;
  call_of(thread, record, names.intern("stream waits for event"), event);
  if (event.task == kNoGrowingTask) return;  // never recorded: nothing to wait for
  run.keep(event.task);
  stream_of(process, record.device, record.stream)
      .next.push_back({event.task, Time{}, EdgeKind::kEvent});
}

}  // namespace flopcast::live
