// What the threads of ranks call, one after the other, so that two ranks can be held against each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "live/engine/pricing/operator_table.h"
#include "live/wire/record.h"

namespace flopcast::live {

/// A call, as far as ranks that stand for each other agree in it: its work, not where it goes.
struct CallMark {
  Act act = Act::kNothing;
  std::uint32_t text = 0;               ///< its signature; of a collective its name
  std::uint64_t first = 0, second = 0;  ///< its sizes
  std::uint32_t told = 0;               ///< its signature with what its tensors hold: not compared
  bool operator==(const CallMark& other) const {
    return act == other.act && text == other.text && first == other.first && second == other.second;
  }
};

/// The marks of calls, and the names of threads.
class Trails {
 public:
  /// @param table by which the work of operators is told
  explicit Trails(OperatorTable table = OperatorTable::builtin()) : table_(std::move(table)) {}

  /// What a thread does. None: it does not matter for its work, or is none of the program's.
  std::optional<CallMark> mark(const Record& record, std::string_view signature);
  /// The thread's place among those of its process that work, in the order in which they begin to: the same in ranks that
  /// are alike, whose threads need not have the same names (each GPU of a node has a thread of autograd's).
  std::uint32_t place_of(std::uint32_t process, std::uint32_t thread);
  /// Another run's processes come.
  void forget_threads() { places_.clear(); }
  /// "all_reduce of 64 bytes".
  std::string words_of(const CallMark& mark) const;

 private:
  std::uint32_t work_of(std::uint32_t told);

  OperatorTable table_;
  StringTable texts_;
  std::map<std::uint32_t, std::uint32_t> work_;  // by signature: the text of its work
  std::map<std::uint32_t, std::vector<std::uint32_t>> places_;  // by process: its threads that work
};

}  // namespace flopcast::live
