#include "live/standin/nccl/valid_parts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "live/standin/nccl/post.h"
#include "live/standin/nccl/reduce.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

using Ranges = std::vector<LetterRange>;

/// What both have; each in order.
Ranges common(std::span<const LetterRange> a, std::span<const LetterRange> b) {
  Ranges both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i].end < b[j].end ? ++i : ++j) {
    const std::uint64_t begin = std::max(a[i].begin, b[j].begin);
    const std::uint64_t end = std::min(a[i].end, b[j].end);
    if (begin < end) both.push_back({begin, end});
  }
  return both;
}

std::span<const LetterRange> ranges_of(Letter& letter) {
  return {Post::ranges_of(letter), letter.ranges};
}

void deliver_moved(const Call& call, int rank, std::span<Letter* const> letters) {
  auto* const got = static_cast<std::byte*>(call.receive);
  for (const Move& move : moves_of(call, rank, letters.size())) {
    Letter& letter = *letters[move.member];
    const LetterRange part{move.from, move.from + move.bytes};
    for (const auto& [begin, end] : common(ranges_of(letter), {&part, 1})) {
      std::byte* const to = got + move.to + (begin - move.from);
      std::memcpy(to, Post::bytes_of(letter) + begin, end - begin);
      Validity::get().mark_valid(to, end - begin);
    }
  }
}

/// Elements of which all members gave all bytes.
void deliver_reduced(const Call& call, int rank, std::span<Letter* const> letters) {
  const std::size_t from = reduced_from(call, rank), size = bytes_of(call.element);
  Ranges ranges{{from, from + call.count * size}};
  for (Letter* const letter : letters) ranges = common(ranges, ranges_of(*letter));
  for (const auto& [begin, end] : ranges) {
    const std::size_t first = (begin - from + size - 1) / size, behind = (end - from) / size;
    if (first >= behind) continue;
    std::vector<const std::byte*> parts;
    for (Letter* const letter : letters)
      parts.push_back(Post::bytes_of(*letter) + from + first * size);
    std::byte* const to = static_cast<std::byte*>(call.receive) + first * size;
    reduce_parts(call.element, call.reduction, parts, behind - first, to);
    Validity::get().mark_valid(to, (behind - first) * size);
  }
}

}  // namespace

std::vector<LetterRange> valid_parts(const Call& call, std::size_t given) {
  std::vector<LetterRange> ranges;
  Validity::get().each_valid(call.send, given, [&ranges](std::size_t offset, std::size_t bytes) {
    if (ranges.size() < kMostLetterRanges) ranges.push_back({offset, offset + bytes});
  });
  // Bytes that are only moved are objects, padded to the length of the longest with memory that nobody wrote: it is
  // arbitrary on a GPU too. All are valid if their beginning is.
  const bool plain_bytes = call.element == Element::kInt8 || call.element == Element::kUint8;
  if (plain_bytes && !reduces(call.op) && !ranges.empty() && ranges.front().begin == 0)
    return {{0, given}};
  return ranges;
}

void deliver_letters(const Call& call, int rank, std::span<Letter* const> letters) {
  if (reduces(call.op)) return deliver_reduced(call, rank, letters);
  deliver_moved(call, rank, letters);
}

}  // namespace flopcast::live
