#include "live/hosts/post_office.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

constexpr std::uint64_t kChain = 77;

/// A machine with one process that writes letters, and reads those of others.
class Machine {
 public:
  explicit Machine(std::uint32_t number) : file_(::memfd_create("flopcast", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(file_.get(), kCommonFileBytes), 0);
    common_ = static_cast<Common*>(::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_NORESERVE, file_.get(), 0));
    boxes_ = std::make_unique<Outboxes>(file_.get(), *common_);
    office_ = std::make_unique<PostOffice>(file_.get(), *common_, number);
  }
  ~Machine() { ::munmap(common_, sizeof(Common)); }

  /// As a process does: held by the office besides its readers. @param before the letter that it is hung on; 0: the first
  LetterPlace write(const std::string& text, std::uint32_t readers, LetterPlace before) {
    const LetterPlace place = boxes_->take(text.size(), 1);
    Letter& letter = boxes_->letter(place);
    letter.next.store(0);
    letter.readers.store(readers + 1);
    letter.ranges = 1;
    letter.bytes = text.size();
    *Outboxes::ranges_of(letter) = {0, text.size()};
    std::memcpy(Outboxes::bytes_of(letter), text.data(), text.size());
    (before == 0 ? boxes_->first_of(kChain) : &boxes_->letter(before).next)->store(place);
    note(place);
    return place;
  }
  /// All texts of the chain that have come since the last call, each of which one reader has read then.
  std::vector<std::string> read() {
    std::vector<std::string> texts;
    for (;;) {
      const LetterPlace next =
          at_ == 0 ? boxes_->first_of(kChain)->load() : boxes_->letter(at_).next.load();
      if (next == 0) return texts;
      Letter& letter = boxes_->letter(next);
      texts.emplace_back(reinterpret_cast<const char*>(Outboxes::bytes_of(letter)), letter.bytes);
      // It is where the next is hung: a reader goes on from it when that has come.
      if (at_ != 0) boxes_->letter(at_).readers.fetch_sub(1);
      at_ = next;
      seen_.insert(next);
    }
  }
  void leave() { boxes_->letter(std::exchange(at_, 0)).readers.fetch_sub(1); }
  /// Places at which it has read letters.
  std::size_t seen() const { return seen_.size(); }
  /// What a process may write over its notes.
  void note(LetterPlace place) {
    Posted& posted = boxes_->posted(boxes_->own());
    posted.notes[posted.written.load() % Posted::kLetters] = {kChain, place};
    posted.written.fetch_add(1);
  }
  std::uint32_t readers(LetterPlace place) { return boxes_->letter(place).readers.load(); }
  PostOffice& office() { return *office_; }
  Common& common() { return *common_; }

 private:
  Descriptor file_;
  Common* common_ = nullptr;
  std::unique_ptr<Outboxes> boxes_;
  std::unique_ptr<PostOffice> office_;
  LetterPlace at_ = 0;
  std::set<LetterPlace> seen_;
};

/// What one has to say reaches the other. @return how many frames that were
std::size_t carry(Machine& from, Machine& to) {
  std::vector<FrameWriter> frames = from.office().collect();
  for (FrameWriter& each : frames) {
    FrameReader frame(each.frame().subspan(sizeof(std::uint32_t)));
    EXPECT_EQ(to.office().take(frame), std::nullopt);
  }
  return frames.size();
}

std::optional<std::string> take(Machine& machine, FrameWriter writer) {
  FrameReader frame(writer.frame().subspan(sizeof(std::uint32_t)));
  return machine.office().take(frame);
}

TEST(LivePostOffice, LettersOfAMachineAreReadOnAnother) {
  Machine here(0), there(1);
  const LetterPlace first = here.write("one", 2, 0);
  here.write("two", 2, first);
  EXPECT_EQ(carry(here, there), 2U);
  EXPECT_EQ(there.read(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(carry(here, there), 0U);
}

TEST(LivePostOffice, ALetterIsItsWritersAgainWhenAllHaveReadItWhereverTheyAre) {
  Machine here(0), there(1);
  const LetterPlace place = here.write("one", 2, 0);
  carry(here, there);
  here.read();
  here.leave();
  there.read();
  EXPECT_EQ(carry(there, here), 0U);
  EXPECT_EQ(here.readers(place), 2U);  // the other one, and the office
  there.leave();
  EXPECT_EQ(carry(there, here), 1U);
  EXPECT_EQ(carry(here, there), 1U);  // it is done
  EXPECT_EQ(here.readers(place), 0U);
}

TEST(LivePostOffice, ManyLettersTakeTheRoomOfFew) {
  Machine here(0), there(1);
  LetterPlace last = 0;
  for (int i = 0; i < 100; ++i) {
    last = here.write("letter " + std::to_string(i), 1, last);
    carry(here, there);
    ASSERT_EQ(there.read(), std::vector<std::string>{"letter " + std::to_string(i)});
    carry(there, here);
    carry(here, there);
  }
  EXPECT_LE(there.seen(), 3U);
}

TEST(LivePostOffice, WhatMakesNoSenseIsRefused) {
  Machine here(0), there(1);
  here.write("one", 1, 0);
  std::vector<FrameWriter> frames = here.office().collect();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(take(there, frames[0]), std::nullopt);
  EXPECT_NE(take(there, frames[0]), std::nullopt) << "the same letter twice";
  EXPECT_NE(take(here, frames[0]), std::nullopt) << "a letter of its own";
  LetterHead head{kChain, letter_of(2, 4096), 100, 1, 0};
  EXPECT_NE(take(there, FrameWriter(FrameKind::kLetter).put(head)), std::nullopt) << "no bytes";
  head.bytes = 0;
  head.ranges = 0xffffffff;
  EXPECT_NE(take(there, FrameWriter(FrameKind::kLetter).put(head)), std::nullopt) << "no ranges";
  head.ranges = 1;
  const LetterRange beyond{0, 1};
  EXPECT_NE(take(there, FrameWriter(FrameKind::kLetter).put(head).put(beyond)), std::nullopt)
      << "more valid bytes than it has";
  EXPECT_NE(take(here, FrameWriter(FrameKind::kRead).put(letter_of(0, 4096)).put(1U)),
            std::nullopt);
  EXPECT_NE(take(here, FrameWriter(FrameKind::kDone).put(letter_of(1, 4096))), std::nullopt);
}

TEST(LivePostOffice, NotesThatAProcessHasOverwrittenAreLeftOut) {
  Machine here(0);
  const LetterPlace place = here.write("one", 1, 0);
  for (const LetterPlace wrong : {LetterPlace{0}, LetterPlace{1}, place + kOutboxBytes,
                                  (place / kOutboxBytes + 1) * kOutboxBytes - 1, ~LetterPlace{0}})
    here.note(wrong);
  EXPECT_EQ(here.office().collect().size(), 1U);
}

}  // namespace
}  // namespace flopcast::live
