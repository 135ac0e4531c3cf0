#include "live/standin/nccl/members.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

std::mutex groups_lock;

template <typename T>
void set_at(std::vector<T>& values, std::int32_t rank, T value, T unset) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= values.size()) values.resize(index + 1, unset);
  values[index] = value;
}

}  // namespace

Folded::Folded(std::string_view text, std::int32_t own) : alone_(text == "alone"), own_(own) {
  if (alone_) return;
  for (std::int32_t part = 0; !text.empty(); ++part) {
    const std::size_t end = std::min(text.find('|'), text.size());
    const auto ranks = ranks_of_text(text.substr(0, end), kMostRanks);
    for (const std::int32_t rank : ranks.value_or(std::vector<std::int32_t>())) {
      if (part == 0) {
        set_at(there_, rank, true, false);
      } else {
        set_at(alike_, rank, part, 0);
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Folded* Folded::get() {
  static Folded* const folded = [] {
    const char* const text = std::getenv(kFoldVariable);
    const char* const rank = std::getenv("RANK");
    return text && *text ? new Folded(text, rank ? std::atoi(rank) : 0) : nullptr;
  }();
  return folded;
}

void Folded::know(std::string_view group, std::vector<std::int32_t> ranks) {
  const std::lock_guard guard(groups_lock);
  groups_.emplace_back(group, std::move(ranks));
}

std::vector<std::int32_t> Folded::ranks_of(std::string_view name) const {
  const std::lock_guard guard(groups_lock);
  // The last of a name counts: a program may make its groups again.
  const auto found = std::find_if(groups_.rbegin(), groups_.rend(),
                                  [name](const auto& group) { return group.first == name; });
  return found == groups_.rend() ? std::vector<std::int32_t>() : found->second;
}

std::vector<int> Folded::voices(const std::vector<std::int32_t>& ranks) const {
  const auto at = std::find(ranks.begin(), ranks.end(), own_);
  const int own = at == ranks.end() ? 0 : static_cast<int>(at - ranks.begin());

  const auto is_there = [this](std::int32_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    return index < there_.size() && there_[index];
  };
  const auto kind = [this](std::int32_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    return index < alike_.size() ? alike_[index] : 0;
  };
  std::vector<int> voices(ranks.size(), own);
  if (alone_) return voices;
  // The last one that is there stands for the others: the first of a program's ranks is often like no other.
  std::vector<int> last;
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    if (is_there(ranks[member])) set_at(last, kind(ranks[member]), static_cast<int>(member), -1);
  }
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    const auto alike = static_cast<std::size_t>(kind(ranks[member]));
    if (is_there(ranks[member])) {
      voices[member] = static_cast<int>(member);
    } else if (alike < last.size() && last[alike] >= 0) {
      voices[member] = last[alike];
    }
  }
  return voices;
}

void say_members(std::uint64_t communicator, const std::vector<std::int32_t>& ranks,
                 std::string_view what) {
  Record record;
  record.act = Act::kMembers;
  record.word[0] = communicator;
  record.signature = Link::get().number(
      what.empty() ? text_of_ranks(ranks) : text_of_ranks(ranks) + ' ' + std::string(what));
  Link::get().say(record);
}

}  // namespace flopcast::live

using namespace flopcast::live;

/// Of a program's library of processes: a group that it makes. @param name that it gives the group's communicators
/// @param what it is for, as the program says it
FLOPCAST_API void flopcast_live_group(const char* name, const char* what, const std::int32_t* ranks,
                                      int size) {
  Folded* const folded = Folded::get();
  if (!folded || !name || !what || size < 0) return;
  std::vector<std::int32_t> all(ranks, ranks + size);
  if (folded->alone()) say_members(0, all, what);
  folded->know(name, std::move(all));
}
/// Of ranks of a group, their places in it: for each the one whose bytes are its own. @param ranks become those
FLOPCAST_API void flopcast_live_voices(std::int32_t* ranks, int size) {
  const Folded* const folded = Folded::get();
  if (!folded || !ranks || size < 0) return;
  const std::vector<int> voices = folded->voices({ranks, ranks + size});
  std::copy(voices.begin(), voices.end(), ranks);
}
/// The program sends to this rank of the run alone, or receives from it.
FLOPCAST_API void flopcast_live_peer(int rank) {
  if (!Folded::get()) return;
  Record record;
  record.act = Act::kPeer;
  record.word[0] = static_cast<std::uint64_t>(rank);
  Link::get().say(record);
}
