#include "live/engine/session/record_check.h"

#include <fmt/format.h>

#include "live/wire/ranks.h"
#include "live/wire/region.h"

namespace flopcast::live {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 48;
constexpr std::uint64_t kMostThreads = 4096;

/// Nanoseconds that a run can hold.
bool is_time_ns(std::uint64_t word) {
  constexpr std::int64_t kMost = (kLastTime + kLongest).ps / 1000;
  const auto ns = static_cast<std::int64_t>(word);
  return -kMost <= ns && ns <= kMost;
}

/// A number of the record that is too large.
std::string odd(const char* what, std::uint64_t number) {
  return fmt::format("has sent a record of {} {}", number, what);
}

std::optional<std::string> odd_words(const Record& record) {
  const std::uint64_t* word = record.word;
  switch (record.act) {
    case Act::kThreadStart:
      if (!is_time_ns(word[2])) return odd("as its time", word[2]);
      break;
    case Act::kWoken:
      if (!is_time_ns(word[2])) return odd("as its delay", word[2]);
      if (!is_time_ns(word[3])) return odd("as its waker's time", word[3]);
      break;
    case Act::kKernel:
      if (word[0] > kMostBlocks) return odd("blocks", word[0]);
      if (word[1] > kMostThreads) return odd("threads of a block", word[1]);
      break;
    case Act::kCopy:
    case Act::kFill:
      if (word[0] > kMostBytes) return odd("bytes", word[0]);
      break;
    case Act::kAskUse:
      if (word[0] > static_cast<std::uint64_t>(DeviceUse::kMemoryOf))
        return odd("as its question", word[0]);
      break;
    case Act::kMakeGroup:
      if (word[2] > kMostRanks) return odd("ranks", word[2]);
      break;
    case Act::kNameMember:
      if (word[1] >> 32 > kMostRanks) return odd("members", word[1] >> 32);
      break;
    case Act::kCollective:
      if (word[1] >> 32 > static_cast<std::uint64_t>(Collective::kBarrier))
        return odd("as its operation", word[1] >> 32);
      if (word[2] > kMostBytes) return odd("bytes", word[2]);
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

Diagnostic overwritten(std::int32_t rank, std::string what) {
  return {ErrorCode::kBadInput, fmt::format("rank {}", rank), std::move(what),
          "the program writes beyond its own memory: look at its extensions; or report it"};
}

Diagnostic time_is_over(std::int32_t rank) {
  return {ErrorCode::kTooLarge, fmt::format("rank {}", rank),
          fmt::format("comes to the end of virtual time: a run has {:.0f} days, a sleep {:.0f}",
                      kLastTime.seconds() / 86400, kLongest.seconds() / 86400),
          "sleep for less, or run fewer steps"};
}

std::optional<Diagnostic> check_record(std::int32_t rank, const Record& record) {
  if (record.act > kLastAct)
    return overwritten(rank, odd("as its act", static_cast<std::uint64_t>(record.act)));
  if (record.device >= Region::kDevices) return overwritten(rank, odd("as its GPU", record.device));
  if (record.gap_ns < 0)
    return overwritten(rank, "has sent a record from before the one before it");
  constexpr std::int64_t kLongestNs = kLongest.ps / 1000;
  const bool sleeps_long =
      record.act == Act::kSleep && record.word[0] > static_cast<std::uint64_t>(kLongestNs);
  if (record.gap_ns > kLongestNs || sleeps_long) return time_is_over(rank);
  if (auto what = odd_words(record)) return overwritten(rank, std::move(*what));
  return std::nullopt;
}

}  // namespace flopcast::live
