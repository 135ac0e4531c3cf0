#include "live/standin/nccl/post.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "live/standin/link/link.h"

namespace flopcast::live {
namespace {

/// Room is taken in powers of two, of a line of the cache at least.
unsigned power_for(std::size_t bytes) {
  return static_cast<unsigned>(std::bit_width(std::max<std::size_t>(bytes, 64) - 1));
}

std::size_t room_of(std::size_t bytes, std::size_t ranges) {
  return sizeof(Letter) + ranges * sizeof(LetterRange) + bytes;
}

char* map_shared_file(std::uint64_t begin, std::uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    Link::get().shared_file(), static_cast<off_t>(begin));
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

}  // namespace

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

Post::Post() : outboxes_(kOutboxes, nullptr) {
  char* const at = map_shared_file(kDirectoryBegin, sizeof(Directory));
  directory_ = reinterpret_cast<Directory*>(at);
  own_ = Link::get().shared().outboxes.fetch_add(1);
  if (own_ >= kOutboxes) fresh_ = kOutboxBytes;
}

Post& Post::get() {
  static Post* const post = new Post;  // letters are read while processes end
  return *post;
}

char* Post::outbox(std::uint64_t index) {
  char*& known = outboxes_[index];
  if (!known) known = map_shared_file((index + 1) * kOutboxBytes, kOutboxBytes);
  if (!known) {
    std::fputs("flopcast: error: shared memory cannot be mapped (see ulimit -v)\n", stderr);
    std::_Exit(3);
  }
  return known;
}

LetterPlace Post::take(std::size_t bytes, std::size_t ranges) {
  const unsigned power = power_for(room_of(bytes, ranges));
  std::vector<LetterPlace>& free = free_[power];
  if (!free.empty()) {
    const LetterPlace place = free.back();
    free.pop_back();
    return place;
  }
  const std::uint64_t room = std::uint64_t{1} << power;
  if (room > kOutboxBytes - fresh_ || !outbox(own_)) return 0;
  const LetterPlace place = (own_ + 1) * kOutboxBytes + fresh_;
  fresh_ += room;
  return place;
}

void Post::give_back(LetterPlace place) {
  const Letter& old = letter(place);
  free_[power_for(room_of(old.bytes, old.ranges))].push_back(place);
}

Letter& Post::letter(LetterPlace place) {
  return *reinterpret_cast<Letter*>(outbox(place / kOutboxBytes - 1) + place % kOutboxBytes);
}

std::atomic<LetterPlace>* Post::first_of(std::uint64_t key) {
  Directory::Entry* const entry = directory_ ? directory_->find(key) : nullptr;
  return entry ? &entry->first : nullptr;
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
  letter.readers.store(readers, std::memory_order_relaxed);
  letter.ranges = static_cast<std::uint32_t>(valid.size());
  letter.bytes = size;
  std::copy(valid.begin(), valid.end(), Post::ranges_of(letter));
  if (size > 0) std::memcpy(Post::bytes_of(letter), bytes, size);
  std::atomic<LetterPlace>* const link =
      places_.empty() ? post.first_of(key_) : &post.letter(places_.back()).next;
  if (link) link->store(place, std::memory_order_release);
  places_.push_back(place);
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
