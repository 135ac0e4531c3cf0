#include "live/fold/trail.h"

#include <fmt/format.h>

#include <algorithm>

#include "live/engine/pricing/same_work.h"
#include "live/engine/session/work.h"

namespace flopcast::live {

std::uint32_t Trails::work_of(std::uint32_t told) {
  const auto [work, is_new] = work_.try_emplace(told);
  if (is_new) work->second = texts_.intern(work_text(texts_[told], table_));
  return work->second;
}

std::optional<CallMark> Trails::mark(const Record& record, std::string_view signature) {
  if ((record.flags & kOfHelper) != 0) return std::nullopt;
  switch (record.act) {
    case Act::kOperatorBegin:
      return CallMark{record.act, texts_.intern(signature)};
    case Act::kKernel:
    case Act::kCopy: {
      const std::uint32_t told = texts_.intern(signature);
      return CallMark{record.act, work_of(told), record.word[0], record.word[1], told};
    }
    case Act::kFill:
      return CallMark{record.act, 0, record.word[0], 0};
    case Act::kCollective:
      return CallMark{record.act, texts_.intern(word_for(op_of(record.word[1]))), record.word[2],
                      0};
    default:
      return std::nullopt;
  }
}

std::uint32_t Trails::place_of(std::uint32_t process, std::uint32_t thread) {
  std::vector<std::uint32_t>& threads = places_[process];
  const auto known = std::find(threads.begin(), threads.end(), thread);
  const auto place = static_cast<std::uint32_t>(known - threads.begin());
  if (known == threads.end()) threads.push_back(thread);
  return place;
}

std::string Trails::words_of(const CallMark& mark) const {
  switch (mark.act) {
    case Act::kCopy:
      return fmt::format("a copy of {} bytes", mark.first);
    case Act::kFill:
      return fmt::format("a fill of {} bytes", mark.first);
    case Act::kCollective:
      return fmt::format("{} of {} bytes", texts_[mark.text], mark.first);
    default:
      return std::string(texts_[mark.told != 0 ? mark.told : mark.text]);
  }
}

}  // namespace flopcast::live
