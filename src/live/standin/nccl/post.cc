#include "live/standin/nccl/post.h"

#include <algorithm>
#include <cstring>

#include "live/standin/link/link.h"

namespace flopcast::live {

std::uint64_t chain_key(std::string_view group, int from, int to) {
  // FNV-1a
  std::uint64_t key = 0xcbf29ce484222325u;
  const auto mix = [&key](std::uint64_t byte) { key = (key ^ byte) * 0x100000001b3u; };
  for (const char letter : group) mix(static_cast<unsigned char>(letter));
  for (const int member : {from, to}) {
    for (int shift = 0; shift < 32; shift += 8)
      mix(static_cast<std::uint32_t>(member) >> shift & 0xff);
  }
  key ^= key >> 32;
  return key == 0 ? 1 : key;
}

// --- the shared file ----------------------------------------------------------------------------

Post::Post() : Outboxes(Link::get().shared_file(), Link::get().shared()) {}

Post& Post::get() {
  static Post* const post = new Post;  // letters are read while processes end
  return *post;
}

void Post::tell_of(std::uint64_t key, LetterPlace place) {
  Common& common = Link::get().shared();
  if (!common.machines.are_several()) return;
  Posted& mine = posted(own());
  const std::uint32_t at = mine.written.load(std::memory_order_relaxed);
  for (std::uint32_t read = mine.read.load(std::memory_order_acquire);
       at - read == Posted::kLetters; read = mine.read.load(std::memory_order_acquire)) {
    common.bell.ring();
    futex_wait(mine.read, read);
    Link::get().end_if_cut(true);
  }
  mine.notes[at % Posted::kLetters] = {key, place};
  mine.written.store(at + 1, std::memory_order_seq_cst);
}

// --- chains -------------------------------------------------------------------------------------

void Writer::put(const void* bytes, std::size_t size, std::span<const LetterRange> valid,
                 std::uint32_t readers) {
  Post& post = Post::get();
  clean(false);
  if (valid.empty()) size = 0;
  LetterPlace place = post.take(size, valid.size());
  if (place == 0 && size > 0) {
    // No room: those who read it see that it is tainted.
    size = 0;
    valid = {};
    place = post.take(0, 0);
  }
  if (place == 0) return;
  Letter& letter = post.letter(place);
  letter.next.store(0, std::memory_order_relaxed);
  // Who takes it to other machines holds it until those have read it, too.
  const bool is_taken = Link::get().common().machines.are_several();
  letter.readers.store(readers + (is_taken ? 1 : 0), std::memory_order_relaxed);
  letter.ranges = static_cast<std::uint32_t>(valid.size());
  letter.bytes = size;
  std::copy(valid.begin(), valid.end(), Post::ranges_of(letter));
  if (size > 0) std::memcpy(Post::bytes_of(letter), bytes, size);
  std::atomic<LetterPlace>* const link =
      places_.empty() ? post.first_of(key_) : &post.letter(places_.back()).next;
  if (link) link->store(place, std::memory_order_release);
  places_.push_back(place);
  post.tell_of(key_, place);
}

bool Writer::clean(bool over) {
  Post& post = Post::get();
  // The last one is where the next is hung, as long as there may be one.
  while (places_.size() > (over ? 0 : 1) &&
         post.letter(places_.front()).readers.load(std::memory_order_acquire) == 0) {
    post.give_back(places_.front());
    places_.pop_front();
  }
  return places_.empty();
}

Letter* Reader::peek() {
  Post& post = Post::get();
  if (at_ == 0 && !first_) first_ = post.first_of(key_);
  if (at_ == 0 && !first_) return nullptr;
  const std::atomic<LetterPlace>& link = at_ == 0 ? *first_ : post.letter(at_).next;
  const LetterPlace next = link.load(std::memory_order_acquire);
  return next == 0 ? nullptr : &post.letter(next);
}

void Reader::pass() {
  Post& post = Post::get();
  const std::atomic<LetterPlace>& link = at_ == 0 ? *first_ : post.letter(at_).next;
  const LetterPlace next = link.load(std::memory_order_acquire);
  leave();
  at_ = next;
}

void Reader::leave() {
  if (at_ != 0) Post::get().letter(at_).readers.fetch_sub(1, std::memory_order_acq_rel);
  at_ = 0;
}

}  // namespace flopcast::live
