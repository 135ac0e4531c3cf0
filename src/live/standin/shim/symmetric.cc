#include "live/standin/shim/symmetric.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "live/standin/link/link.h"
#include "live/standin/memory/shared_memory.h"
#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// c10d::symmetric_memory::barrier_kernel(words of each rank, channel, rank, number of ranks, time-out)
constexpr std::string_view kBarrierKernel = "_ZN4c10d16symmetric_memory14barrier_kernelE";
constexpr int kMostMembers = 1024;
/// Groups are numbered apart from the communicators of NCCL.
constexpr std::uint64_t kFirstGroup = std::uint64_t{1} << 62;

template <typename T>
T argument(void* const* arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

/// The parts that the words of all members lie in; empty where one is not known.
std::vector<SharedPart> parts_of(const void* const* words, int members) {
  const std::size_t bytes = static_cast<std::size_t>(members) * sizeof(void*);
  settle_bytes(words, bytes);
  if (!Validity::get().valid(words, bytes)) return {};
  std::vector<SharedPart> parts;
  for (int i = 0; i < members; ++i) {
    const std::optional<SharedPart> part = shared_part_at(words[i]);
    if (!part) return {};
    parts.push_back(*part);
  }
  return parts;
}

/// The group's number, which the engine hears of once. It has the same name in all processes.
std::uint64_t group_of(const std::vector<SharedPart>& parts, int channel, int own) {
  static std::mutex& lock = *new std::mutex;
  static auto& known = *new std::map<std::string, std::uint64_t>;
  // Each machine has a file of its own.
  const std::string machine =
      parts[0].machine > 0 ? "of " + std::to_string(parts[0].machine) + ", " : std::string();
  const std::string name = "memory " + machine + std::to_string(parts[0].place + parts[0].offset) +
                           '/' + std::to_string(channel);
  const std::lock_guard guard(lock);
  const auto [found, is_new] = known.try_emplace(name, kFirstGroup + known.size());
  if (!is_new) return found->second;
  for (std::size_t member = 0; member < parts.size(); ++member) {
    Record record;
    record.act = Act::kNameMember;
    record.signature = Link::get().number(name);
    record.word[0] = found->second;
    record.word[1] = parts.size() << 32 | member;
    record.word[2] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(parts[member].rank))
                         << 32 |
                     static_cast<std::uint32_t>(parts[member].device);
    record.word[3] = static_cast<std::uint64_t>(own);
    Link::get().say(record);
  }
  return found->second;
}

}  // namespace

std::optional<Record> barrier_of(const KernelObject& kernel, void* const* arguments, void* stream) {
  if (!kernel.name.starts_with(kBarrierKernel) || !arguments) return std::nullopt;
  const auto channel = argument<int>(arguments, 1), own = argument<int>(arguments, 2),
             members = argument<int>(arguments, 3);
  if (members < 1 || members > kMostMembers || own < 0 || own >= members) return std::nullopt;
  const auto parts = parts_of(argument<const void* const*>(arguments, 0), members);
  if (parts.empty()) return std::nullopt;
  Record record = record_on(stream, Act::kCollective);
  record.duration_ns = 4 * kCallNs;
  record.word[0] = group_of(parts, channel, own);
  record.word[1] = static_cast<std::uint64_t>(Collective::kBarrier) << 32;
  record.word[3] = static_cast<std::uint64_t>(Element::kUint32) << 32 | 1;  // a call by itself
  return record;
}

}  // namespace flopcast::live
