#include "live/engine/capture/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace flopcast::live {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint32_t kMain = 0;  ///< the first thread of a process
/// Rows told between two looks at what is final.
constexpr std::size_t kSettleAfter = std::size_t{1} << 14;

bool is_question(Act act) {
  return act == Act::kAskEvent || act == Act::kAskStream || act == Act::kElapsed ||
         act == Act::kAskSpan || act == Act::kAskUse;
}

/// Threads in real time ask as often as the real scheduler lets them, and are told nothing here: the question counts as
/// one of their records all the same.
Record without_question(Record record) {
  if ((record.flags & kOfHelper) != 0 && is_question(record.act)) {
    record.act = Act::kNothing;
    record.flags &= static_cast<std::uint8_t>(~kAnswerWanted);
  }
  return record;
}

/// Nobody of the run woke it: what did had come from somewhere that no record tells.
bool woken_from_outside(const Record& record) {
  return record.act == Act::kWoken && record.word[1] == 0 && (record.flags & kOfHelper) == 0;
}

class Teller {
 public:
  Teller(const Capture& capture, Session& session) : capture_(capture), session_(session) {}

  Result<Retold> tell(const std::function<void()>& settle) {
    arrange();
    std::size_t settled = 0;
    for (;;) {
      const std::size_t before = told_;
      if (auto problem = tell_in_order()) return *problem;
      const std::vector<SessionAnswer> answers = session_.advance();
      for (const SessionAnswer& answer : answers) take(answer);
      if (told_ - settled > kSettleAfter) {
        settled = told_;
        settle();
      }
      if (told_ != before || !answers.empty()) continue;
      if (told_ == rows_) return std::move(retold_);
      if (auto problem = go_on()) return *problem;
    }
  }

 private:
  /// A thread of a process, by its ring.
  struct Thread {
    bool waits = false, idles = false;
    std::uint32_t told = 0;      ///< of its records
    std::uint32_t last = kNone;  ///< the row of its last one
  };
  struct Process {
    std::int32_t rank = 0;
    bool main_speaks = false;         ///< its first thread says anything
    std::vector<std::uint32_t> rows;  ///< of its records, in order
    std::size_t first = 0;            ///< that is not told
    std::vector<Thread> threads;      ///< by number; one that says nothing may have no place
    Thread& thread(std::uint32_t number) {
      if (number >= threads.size()) threads.resize(number + 1);
      return threads[number];
    }
  };

  void arrange() {
    const auto count = static_cast<std::uint32_t>(capture_.rows.size());
    is_told_.assign(count, 0);
    stops_.assign(count, 0);
    next_.assign(count, kNone);
    std::unordered_map<std::uint64_t, std::uint32_t> last;  // row, by process and thread
    for (std::uint32_t i = 0; i < count; ++i) {
      const CapturedRow& row = capture_.rows[i];
      const std::uint64_t thread = std::uint64_t{row.process} << 32 | row.thread;
      if (row.kind == CapturedRow::Kind::kProcess) {
        processes_.emplace_back().rank = row.rank;
      } else if (row.kind == CapturedRow::Kind::kRecord) {
        Process& process = processes_[row.process];
        process.rows.push_back(i);
        process.main_speaks = process.main_speaks || row.thread == kMain;
        const auto [before, is_first] = last.try_emplace(thread, i);
        if (!is_first) next_[std::exchange(before->second, i)] = i;
        ++rows_;
      } else if (row.kind == CapturedRow::Kind::kStopped) {
        const auto before = last.find(thread);
        if (before != last.end()) stops_[before->second] = 1;
      } else if (row.kind == CapturedRow::Kind::kAnswer) {
        const auto asked = last.find(thread);
        if (asked != last.end()) answers_[asked->second] = i;
      }
    }
    pass_told();
  }

  /// Goes over all that is told. Processes come where they came.
  void pass_told() {
    for (; all_before_ < capture_.rows.size(); ++all_before_) {
      const CapturedRow& row = capture_.rows[all_before_];
      if (row.kind == CapturedRow::Kind::kRecord && is_told_[all_before_] == 0) return;
      if (row.kind != CapturedRow::Kind::kProcess) continue;
      const std::uint32_t process = session_.add_process(row.rank);
      if (!processes_[process].main_speaks) session_.stand_still(process, kMain);
      there_ = process + 1;
    }
  }

  std::optional<Diagnostic> tell_in_order() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t p = 0; p < there_; ++p) {
        Process& process = processes_[p];
        while (process.first < process.rows.size()) {
          const std::uint32_t row = process.rows[process.first];
          if (is_told_[row] == 0) {
            if (!may_be_told(process, row) || !came_in_time(process, row)) break;
            if (auto problem = tell_row(process, row)) return problem;
            moved = true;
          }
          ++process.first;
        }
      }
      pass_told();
    }
    return std::nullopt;
  }

  /// Whether its thread may have written it by now.
  bool may_be_told(Process& process, std::uint32_t row) {
    const CapturedRow& what = capture_.rows[row];
    const Thread& thread = process.thread(what.thread);
    const bool is_woken = what.record.act == Act::kWoken;
    if (thread.waits && !(is_woken && thread.idles)) return false;
    if (!is_woken && what.record.act != Act::kThreadStart) return true;
    const std::uint64_t waker = what.record.word[0];
    const std::uint32_t records = waker < process.threads.size() ? process.threads[waker].told : 0;
    return records >= what.record.word[1];
  }

  /// What came from outside came after all that had been heard before it.
  bool came_in_time(Process& process, std::uint32_t row) const {
    const CapturedRow& what = capture_.rows[row];
    const std::uint32_t last = process.thread(what.thread).last;
    const bool unheard = last != kNone && stops_[last] != 0;
    return (!unheard && !woken_from_outside(what.record)) || all_before_ >= row;
  }

  std::optional<Diagnostic> tell_row(Process& process, std::uint32_t row) {
    const CapturedRow& what = capture_.rows[row];
    const Record record = without_question(what.record);
    Thread& thread = process.thread(what.thread);
    is_told_[row] = 1;
    ++told_;
    ++thread.told;
    thread.last = row;
    thread.waits = (record.flags & kAnswerWanted) != 0;
    thread.idles = record.act == Act::kIdle;
    if (auto problem =
            session_.retake(what.process, what.thread, record, capture_.text(record.signature)))
      return problem;
    if (!thread.waits && !thread.idles) runs_on(what, row);
    return std::nullopt;
  }

  /// A thread that goes on only when it is woken, or no more, holds nobody up.
  void runs_on(const CapturedRow& what, std::uint32_t row) {
    const std::uint32_t next = next_[row];
    if (stops_[row] != 0) return session_.stand_still(what.process, what.thread, true);
    if (next == kNone || capture_.rows[next].record.act == Act::kWoken)
      session_.stand_still(what.process, what.thread);
  }

  void take(const SessionAnswer& answer) {
    Thread& thread = processes_[answer.process].thread(answer.thread);
    thread.waits = thread.idles = false;
    if (thread.last == kNone) return;
    compare(thread.last, answer);
    runs_on(capture_.rows[thread.last], thread.last);
  }

  void compare(std::uint32_t row, const SessionAnswer& answer) {
    const CapturedRow& asked = capture_.rows[row];
    const auto known = answers_.find(row);
    const Record told = known == answers_.end() ? Record() : capture_.rows[known->second].record;
    if (!is_question(asked.record.act) && asked.record.act != Act::kIdle) return;
    ++retold_.asked;
    if (told.duration_ns == answer.status && told.word[0] == answer.value) return;
    if (retold_.differs++ != 0) return;
    retold_.first = fmt::format("rank {} {}", processes_[asked.process].rank,
                                asked.record.act == Act::kAskUse    ? "asked what its GPU does"
                                : asked.record.act == Act::kIdle    ? "waited with a time-out"
                                : asked.record.act == Act::kElapsed ? "asked how long its GPU took"
                                : asked.record.act == Act::kAskSpan
                                    ? "asked when its GPU did something"
                                    : "asked whether its GPU had done something");
  }

  /// Nobody can go on in order: the first row that can be told at all is.
  std::optional<Diagnostic> go_on() {
    std::uint32_t first = kNone;
    for (std::uint32_t p = 0; p < there_; ++p) {
      Process& process = processes_[p];
      std::unordered_map<std::uint32_t, bool> seen;  // threads with a row before
      for (std::size_t i = process.first; i < process.rows.size(); ++i) {
        const std::uint32_t row = process.rows[i];
        if (is_told_[row] != 0 || !seen.try_emplace(capture_.rows[row].thread, true).second)
          continue;
        if (may_be_told(process, row)) first = std::min(first, row);
      }
    }
    if (first != kNone) return tell_row(processes_[capture_.rows[first].process], first);
    return Diagnostic{ErrorCode::kNoAnswer, "capture",
                      "all ranks wait, and none can go on:\n" + session_.deadlock(true),
                      "the program decides by how long things take: run it on that cluster"};
  }

  const Capture& capture_;
  Session& session_;
  std::vector<Process> processes_;
  std::vector<std::uint8_t> is_told_;                         ///< by row
  std::vector<std::uint32_t> next_;                           ///< row of the same thread, by row
  std::unordered_map<std::uint32_t, std::uint32_t> answers_;  ///< row of the answer, by row
  std::vector<std::uint8_t> stops_;  ///< by row: its thread stopped after it without a word
  std::size_t rows_ = 0, told_ = 0;
  std::uint32_t there_ = 0;     ///< processes that have come
  std::size_t all_before_ = 0;  ///< all records before this row are told
  Retold retold_;
};

}  // namespace

Result<Retold> retell(const Capture& capture, Session& session,
                      const std::function<void()>& settle) {
  // What processes hand each other has the time that it had.
  const bool has_children =
      std::any_of(capture.rows.begin(), capture.rows.end(), [](const CapturedRow& row) {
        return row.kind == CapturedRow::Kind::kRecord && row.record.act == Act::kFork;
      });
  if (has_children) {
    return Diagnostic{ErrorCode::kNoAnswer, "capture",
                      "ranks of the run started processes of their own (DataLoader's workers, "
                      "say), whose hand-overs are as long as they were then",
                      "run the script itself on that cluster"};
  }
  if (capture.restarts > 0) {
    return Diagnostic{ErrorCode::kNoAnswer, "capture",
                      "ranks of the run were started again, at the time when one had failed there",
                      "run the script itself on that cluster"};
  }
  return Teller(capture, session).tell(settle);
}

}  // namespace flopcast::live
