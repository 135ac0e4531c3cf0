// A live run as its records tell it: processes, threads, streams, events and communicators become the tasks of
// one growing graph, and threads that wait get their answers. docs/theory/live.md has the rules of
// time and order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/engine/growing.h"
#include "live/session/work.h"

namespace flopcast::live {

/// Goes to a thread that waits.
struct SessionAnswer {
  std::uint32_t process = 0, thread = 0;
  std::uint32_t status = 0;  ///< 0: as asked; else an errno
  Time at;                   ///< the thread goes on
  std::uint64_t value = 0;   ///< by act
};

class Session {
 public:
  /// @param work must live as long as the session
  explicit Session(Work& work, const HostTimes& times = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// A process of the application, whose first thread runs from now on. All of them are to be there
  /// before any is answered. @return its number, from 0
  std::uint32_t add_process(std::int32_t rank);
  /// What one of its threads wrote, in the order in which it wrote. @param signature text of the record's
  /// signature. @return what is wrong with it: such a process cannot go on
  std::optional<Diagnostic> take(std::uint32_t process, std::uint32_t thread, const Record& record,
                                 std::string_view signature);
  /// The process is gone, whatever it was about to say.
  void lose(std::uint32_t process);

  /// Answers that can be given now. To be called when every record that was written has been taken.
  std::vector<SessionAnswer> advance();
  /// Nothing that happens from now on starts before this.
  Time horizon() const;
  /// All wait and nobody can go on: who for whom, line by line. Empty if somebody runs.
  /// @param idle_too even if some process only idles, for something outside the run as far as is known
  std::string deadlock(bool idle_too = false) const;

  GrowingRun& run();                                   ///< its graph
  std::string_view name_of(std::uint32_t name) const;  ///< text of a task's name

  struct State;  ///< the session's own

 private:
  std::unique_ptr<State> state_;
};

}  // namespace flopcast::live
