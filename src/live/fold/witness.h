// Whether ranks that are said to be alike are: those of them that are there are held against each other, call by call.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "live/engine/session/session.h"
#include "live/fold/trail.h"

namespace flopcast::live {

/// Hears a folded run. The first rank of a run often does more than others, prints and reads say; where two more of its kind are
/// there it may: it speaks for nobody.
class Witness final : public SessionListener {
 public:
  /// @param folding must live as long @param table by which the work of operators is told
  explicit Witness(const Folding& folding, OperatorTable table = OperatorTable::builtin());

  /// The first call in which two ranks differ that stand for the same.
  const std::optional<Diagnostic>& problem() const { return problem_; }
  /// Of a run that has ended well: the first call that one made and another that stands for the same never did.
  std::optional<Diagnostic> problem_at_end() const;
  /// Calls in which ranks that stand for the same were given other lengths of sequences, and as much work.
  std::uint64_t other_lengths() const { return other_lengths_; }

  void came(std::int32_t rank) override;
  void took(std::uint32_t process, std::uint32_t thread, const Record& record,
            std::string_view signature) override;
  void lost(std::uint32_t /*process*/) override {}
  void stopped(std::uint32_t /*process*/, std::uint32_t /*thread*/) override {}
  void answered(const SessionAnswer& /*answer*/) override {}

 private:
  /// Calls of one thread of ranks that are alike, from the first that not all of them have made.
  struct Calls {
    std::deque<std::pair<CallMark, std::int32_t>> made;  // with the rank that made it first
    std::uint64_t gone = 0;                              // before those
    std::map<std::int32_t, std::uint64_t> come;          // by rank: calls that it has made
    std::deque<CallMark> ahead;  // of the run's first rank, not held against the others' yet
    bool excused = false;        // that one is not held against them
  };
  void take(Calls& calls, std::uint32_t number, std::int32_t rank, const CallMark& mark);
  void hold_first(Calls& calls, std::uint32_t number);
  void forget(Calls& calls) const;
  Diagnostic difference(std::uint64_t call, const CallMark& a, std::int32_t rank_a,
                        const CallMark& b, std::int32_t rank_b) const;
  Diagnostic unlike(std::int32_t rank_a, std::int32_t rank_b, std::string_view what) const;

  const Folding& folding_;
  std::vector<std::size_t> there_,
      all_;  // by number of those alike: how many are there, and how many they are
  struct Member {
    std::int32_t rank = 0;
    std::uint32_t lines = 0;  // the place of its first thread: a child's is behind its rank's
  };
  std::vector<Member> members_;  // by process
  Trails trails_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Calls>
      calls_;  // by number of those alike, thread
  std::optional<Diagnostic> problem_;
  std::uint64_t other_lengths_ = 0;
};

}  // namespace flopcast::live
