#include "live/hosts/far_line.h"

#include <algorithm>
#include <cstring>

#include "live/hosts/frames.h"

namespace flopcast::live {
namespace {

template <std::size_t Size>
void copy_text(char (&to)[Size], std::span<const std::byte> from) {
  const std::size_t size = std::min(from.size(), Size - 1);
  if (size > 0) std::memcpy(to, from.data(), size);
  to[size] = '\0';
}

void hear_texts(FarLine& line, FrameReader& frame) {
  const std::uint32_t count = frame.count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!line.region->arena.add(frame.text())) return frame.spoil();
  }
}

void hear_places(FarLine& line, FrameReader& frame) {
  const std::uint32_t count = frame.count(3 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto index = frame.take<std::uint32_t>();
    const auto looked = frame.take<std::uint32_t>();
    const auto thread = frame.take<std::int32_t>();
    if (index >= Watch::kPlaces) return frame.spoil();
    line.region->watch.places[index].thread.store(thread);
    line.region->watch.places[index].looked.store(looked, std::memory_order_release);
  }
}

void hear_records(FarLine& line, FrameReader& frame, Doorbell& bell) {
  const auto index = frame.take<std::uint32_t>();
  const auto thread = frame.take<std::int32_t>();
  const auto handle = frame.take<std::uint64_t>();
  const std::uint32_t count = frame.count(sizeof(Record));
  if (index >= Region::kThreads) return frame.spoil();
  Region& region = *line.region;
  Ring& ring = region.rings[index];
  ring.thread.store(thread);
  ring.handle.store(handle);
  if (region.threads.load() <= index) region.threads.store(index + 1, std::memory_order_release);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!ring.has_room()) return frame.spoil();
    ring.write(frame.take<Record>(), bell);
  }
}

void hear_state(FarLine& line, FrameReader& frame) {
  const auto state = frame.take<LineState>();
  const auto first = frame.bytes(frame.take<std::uint32_t>());
  const auto origin = frame.bytes(frame.take<std::uint32_t>());
  const std::uint32_t stretches = frame.count(sizeof(HostWork::Stretch));
  if (stretches > HostWork::kMost) return frame.spoil();
  Region& region = *line.region;
  for (std::uint32_t i = 0; i < stretches; ++i)
    region.host_work.stretches[i] = frame.take<HostWork::Stretch>();
  region.host_work.count.store(state.stretches);
  for (std::uint32_t i = 0; i < Region::kDevices; ++i)
    region.most_memory[i].store(state.most_memory[i]);
  TaintedReads& tainted = region.tainted;
  tainted.reads.store(state.reads);
  tainted.bytes.store(state.bytes);
  tainted.assumed.store(state.assumed);
  if (!first.empty()) {
    copy_text(tainted.first, first);
    tainted.state.store(TaintedReads::kWritten, std::memory_order_release);
  }
  if (!origin.empty()) {
    copy_text(tainted.origin, origin);
    tainted.origin_state.store(TaintedReads::kWritten, std::memory_order_release);
  }
  region.ended.store(state.ended);
}

void hear_stacks(FarLine& line, FrameReader& frame) {
  const auto question = frame.take<std::uint32_t>();
  const std::uint32_t count = frame.count(1 + sizeof(std::uint32_t));
  Stacks& stacks = line.region->stacks;
  if (count > Stacks::kThreads) return frame.spoil();
  for (std::uint32_t i = 0; i < count; ++i) {
    stacks.python[i] = frame.take<std::uint8_t>();
    copy_text(stacks.text[i], frame.bytes(frame.take<std::uint32_t>()));
  }
  stacks.told.store(question, std::memory_order_release);
}

}  // namespace

void hear_of_line(FarLine& line, FrameReader& frame, Doorbell& bell) {
  switch (frame.kind()) {
    case FrameKind::kTexts:
      return hear_texts(line, frame);
    case FrameKind::kPlaces:
      return hear_places(line, frame);
    case FrameKind::kRecords:
      return hear_records(line, frame, bell);
    case FrameKind::kState:
      return hear_state(line, frame);
    case FrameKind::kStacks:
      return hear_stacks(line, frame);
    case FrameKind::kLeft:
      line.ended.store(frame.take<std::uint8_t>() != 0);
      return line.left.store(true, std::memory_order_release);
    case FrameKind::kOverwritten:
      return line.overwritten.store(true);
    default:
      return frame.spoil();
  }
}

}  // namespace flopcast::live
