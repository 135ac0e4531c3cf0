#include "live/hosts/post_office.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace flopcast::live {

PostOffice::PostOffice(int file, Common& common, std::uint32_t machine)
    : common_(common), machine_(machine), boxes_(file, common) {}

// --- what goes ----------------------------------------------------------------------------------

std::vector<FrameWriter> PostOffice::collect(bool readers_too) {
  const std::lock_guard guard(lock_);
  std::vector<FrameWriter> frames;
  collect_written(frames);
  if (readers_too) collect_read(frames);
  return frames;
}

void PostOffice::collect_written(std::vector<FrameWriter>& frames) {
  const std::uint64_t boxes = std::min<std::uint64_t>(common_.outboxes.load(), kOutboxes);
  for (std::uint64_t box = 0; box < boxes; ++box) {
    if (box == boxes_.own()) continue;
    Posted& posted = boxes_.posted(box);
    const std::uint32_t written = posted.written.load(std::memory_order_seq_cst);
    std::uint32_t read = posted.read.load(std::memory_order_relaxed);
    if (written == read || written - read > Posted::kLetters) continue;
    for (; read != written; ++read) {
      const Posted::Note note = posted.notes[read % Posted::kLetters];
      // The memory is the process's, too: whatever it has written there, this one reads nothing else.
      const LetterPlace begin = (box + 1) * kOutboxBytes;
      if (note.place < begin + kLettersBegin || note.place > begin + kOutboxBytes - sizeof(Letter))
        continue;
      Letter& letter = boxes_.letter(note.place);
      const LetterHead head{note.key, letter_of(machine_, note.place), letter.bytes,
                            letter.readers.load() - 1, letter.ranges};
      if (!Outboxes::fits(note.place, letter) || head.bytes > kMostFrame / 2) continue;
      FrameWriter frame(FrameKind::kLetter);
      frame.put(head);
      frame.put_bytes(Outboxes::ranges_of(letter), head.ranges * sizeof(LetterRange));
      frame.put_bytes(Outboxes::bytes_of(letter), head.bytes);
      frames.push_back(std::move(frame));
      held_.push_back(note.place);
    }
    posted.read.store(read, std::memory_order_release);
    futex_wake(posted.read);
  }
}

void PostOffice::collect_read(std::vector<FrameWriter>& frames) {
  // All others have read it: only this office holds it.
  std::erase_if(held_, [&](LetterPlace place) {
    Letter& letter = boxes_.letter(place);
    if (letter.readers.load(std::memory_order_acquire) != 1) return false;
    frames.push_back(FrameWriter(FrameKind::kDone).put(letter_of(machine_, place)));
    letter.readers.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  });
  for (auto& [letter, copy] : copies_) {
    if (copy.done) continue;
    const std::uint32_t readers = boxes_.letter(copy.place).readers.load(std::memory_order_acquire);
    if (readers >= copy.readers) continue;
    frames.push_back(FrameWriter(FrameKind::kRead).put(letter).put(copy.readers - readers));
    copy.readers = readers;
  }
}

// --- what comes ---------------------------------------------------------------------------------

std::optional<std::string> PostOffice::take(FrameReader& frame) {
  const std::lock_guard guard(lock_);
  if (frame.kind() == FrameKind::kLetter) return hang(frame);
  return frame.kind() == FrameKind::kRead ? take_read(frame) : take_done(frame);
}

std::optional<std::string> PostOffice::hang(FrameReader& frame) {
  const auto head = frame.take<LetterHead>();
  const auto ranges = frame.bytes(std::size_t{head.ranges} * sizeof(LetterRange));
  const auto bytes = frame.bytes(head.bytes);
  if (!frame.is_sound() || machine_of(head.letter) == machine_ || copies_.contains(head.letter))
    return "a letter that is none";
  for (std::uint32_t i = 0; i < head.ranges; ++i) {
    LetterRange range{};
    std::memcpy(&range, ranges.data() + i * sizeof range, sizeof range);
    if (range.begin > range.end || range.end > head.bytes) return "a letter that is none";
  }
  const LetterPlace place = boxes_.take(head.bytes, head.ranges);
  const auto last = last_.find(head.key);
  std::atomic<LetterPlace>* const link = last != last_.end()
                                             ? &boxes_.letter(copies_.at(last->second).place).next
                                             : boxes_.first_of(head.key);
  if (place == 0 || !link) return "more letters than there is room for on this machine";
  Letter& letter = boxes_.letter(place);
  letter.next.store(0, std::memory_order_relaxed);
  letter.readers.store(head.readers, std::memory_order_relaxed);
  letter.ranges = head.ranges;
  letter.bytes = head.bytes;
  if (!ranges.empty()) std::memcpy(Outboxes::ranges_of(letter), ranges.data(), ranges.size());
  if (!bytes.empty()) std::memcpy(Outboxes::bytes_of(letter), bytes.data(), bytes.size());
  link->store(place, std::memory_order_release);
  copies_[head.letter] = {head.key, place, head.readers, false};
  const std::uint64_t before = last != last_.end() ? last->second : 0;
  last_[head.key] = head.letter;
  if (before != 0) drop(before);
  return std::nullopt;
}

std::optional<std::string> PostOffice::take_read(FrameReader& frame) {
  const auto number = frame.take<std::uint64_t>();
  const auto more = frame.take<std::uint32_t>();
  const LetterPlace place = number & ((std::uint64_t{1} << kPlaceBits) - 1);
  const bool is_held =
      machine_of(number) == machine_ && std::find(held_.begin(), held_.end(), place) != held_.end();
  if (!frame.is_sound() || !is_held) return "news of a letter that is none";
  Letter& letter = boxes_.letter(place);
  if (letter.readers.load() <= more) return "news of more readers than a letter has";
  letter.readers.fetch_sub(more, std::memory_order_acq_rel);
  return std::nullopt;
}

std::optional<std::string> PostOffice::take_done(FrameReader& frame) {
  const auto letter = frame.take<std::uint64_t>();
  const auto copy = copies_.find(letter);
  if (!frame.is_sound() || copy == copies_.end()) return "news of a letter that is none";
  copy->second.done = true;
  drop(letter);
  return std::nullopt;
}

/// The last of a chain is where the next is hung.
void PostOffice::drop(std::uint64_t letter) {
  const auto copy = copies_.find(letter);
  if (!copy->second.done || last_.at(copy->second.key) == letter) return;
  boxes_.give_back(copy->second.place);
  copies_.erase(copy);
}

}  // namespace flopcast::live
