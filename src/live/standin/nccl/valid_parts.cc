#include "live/standin/nccl/valid_parts.h"

#include <algorithm>
#include <cstdint>

#include "live/standin/nccl/post.h"
#include "live/standin/nccl/reduce.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

constexpr std::byte kValid{0xff};

bool reduces(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kReduce ||
         op == Collective::kReduceScatter;
}

bool whole(Letter& letter, std::size_t bytes) {
  return letter.ranges == 1 && Post::ranges_of(letter)->begin == 0 &&
         Post::ranges_of(letter)->end >= bytes;
}

/// A byte for each of a part: kValid or zero.
std::vector<std::byte> mask_of(Letter& letter, std::size_t bytes) {
  std::vector<std::byte> mask(bytes);
  for (const LetterRange& range : std::span(Post::ranges_of(letter), letter.ranges)) {
    for (std::size_t at = range.begin; at < std::min<std::size_t>(range.end, bytes); ++at)
      mask[at] = kValid;
  }
  return mask;
}

std::vector<const std::byte*> begins_of(const std::vector<std::vector<std::byte>>& parts) {
  std::vector<const std::byte*> begins;
  for (const std::vector<std::byte>& part : parts) begins.push_back(part.data());
  return begins;
}

/// Marks those of `bytes` bytes whose mask is set; of elements, those of which all bytes are.
void mark(const void* at, const std::vector<std::byte>& mask, std::size_t element) {
  const auto* const begin = static_cast<const std::byte*>(at);
  const auto set = [&](std::size_t i) {
    return std::all_of(mask.begin() + static_cast<std::ptrdiff_t>(i * element),
                       mask.begin() + static_cast<std::ptrdiff_t>((i + 1) * element),
                       [](std::byte byte) { return byte == kValid; });
  };
  const std::size_t count = mask.size() / element;
  for (std::size_t from = 0, until = 0; from < count; from = until + 1) {
    while (from < count && !set(from)) ++from;
    for (until = from; until < count && set(until);) ++until;
    if (until > from) Validity::get().mark_valid(begin + from * element, (until - from) * element);
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

void deliver_letters(const Call& call, int rank, std::span<Letter* const> letters,
                     std::span<const std::size_t> sizes, std::size_t got) {
  std::vector<const std::byte*> parts;
  bool all_whole = true;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    parts.push_back(Post::bytes_of(*letters[i]));
    all_whole = all_whole && (sizes[i] == 0 || whole(*letters[i], sizes[i]));
  }
  if (all_whole) {
    deliver(call, rank, parts);
    return Validity::get().mark_valid(call.receive, got);
  }
  // The same call on the masks of its parts says what is valid; sums are where all are.
  std::vector<std::vector<std::byte>> masks, zeros(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    masks.push_back(mask_of(*letters[i], sizes[i]));
    if (letters[i]->bytes < sizes[i]) {
      zeros[i].resize(sizes[i]);
      parts[i] = zeros[i].data();
    }
  }
  std::vector<std::byte> mask(got);
  Call of_masks = call;
  of_masks.receive = mask.data();
  of_masks.count = call.count * bytes_of(call.element);
  of_masks.element = Element::kUint8;
  of_masks.reduction = Reduction::kMinimum;
  deliver(call, rank, parts);
  deliver(of_masks, rank, begins_of(masks));
  mark(call.receive, mask, reduces(call.op) ? bytes_of(call.element) : 1);
}

}  // namespace flopcast::live
