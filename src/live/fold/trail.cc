#include "live/fold/trail.h"

#include <fmt/format.h>

#include "live/engine/session/work.h"

namespace flopcast::live {

std::optional<CallMark> Trails::mark(std::uint32_t process, std::uint32_t thread,
                                     const Record& record, std::string_view signature) {
  if ((record.flags & kOfHelper) != 0) return std::nullopt;
  switch (record.act) {
    case Act::kThreadStart:
      names_[{process, thread}] = record.word[3];
      return std::nullopt;
    case Act::kOperatorBegin:
      return CallMark{record.act, texts_.intern(signature)};
    case Act::kKernel:
    case Act::kCopy:
      return CallMark{record.act, texts_.intern(signature), record.word[0], record.word[1]};
    case Act::kFill:
      return CallMark{record.act, 0, record.word[0], 0};
    case Act::kCollective:
      return CallMark{record.act, texts_.intern(word_for(op_of(record.word[1]))), record.word[2],
                      0};
    default:
      return std::nullopt;
  }
}

std::uint64_t Trails::name_of(std::uint32_t process, std::uint32_t thread) const {
  const auto found = names_.find({process, thread});
  return found == names_.end() ? 0 : found->second;
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
      return std::string(texts_[mark.text]);
  }
}

}  // namespace flopcast::live
