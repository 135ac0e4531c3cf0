// Floor 0: units, time, errors as values, interned strings, threads.
//
// Time is an integer: picoseconds in an int64, 106 days either side of the run's origin. Every
// other unit is a distinct type over double, so that mixing seconds with bytes does not compile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flopcast/base/units.h"

/// Everything public. Names are unique in it.
namespace flopcast {

/// A point in time or a duration, in picoseconds. Exact; never passes through double on input.
struct Time {
  std::int64_t ps = 0;  ///< picoseconds

  /// a whole number of nanoseconds
  static constexpr Time from_ns(std::int64_t ns) { return {ns * 1000}; }
  /// a whole number of microseconds
  static constexpr Time from_us(std::int64_t us) { return {us * 1000000}; }
  /// the last there is: "never", "not yet known"
  static constexpr Time max() { return {std::numeric_limits<std::int64_t>::max()}; }
  /// the first there is
  static constexpr Time min() { return {std::numeric_limits<std::int64_t>::min()}; }
  /// Seconds, for printing and ratios only.
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  /// microseconds, for printing and ratios only
  constexpr double us() const { return static_cast<double>(ps) * 1e-6; }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator-() const { return {-ps}; }
  constexpr Time operator+(Time o) const { return {ps + o.ps}; }
  constexpr Time operator-(Time o) const { return {ps - o.ps}; }
  constexpr Time& operator+=(Time o) { return ps += o.ps, *this; }
  constexpr Time& operator-=(Time o) { return ps -= o.ps, *this; }
};

/// What went wrong. The numbers are the process exit codes of the command line.
enum class ErrorCode : std::uint8_t {
  kUsage = 2,     ///< the caller asked for something that does not exist
  kBadInput = 3,  ///< a file cannot be read or does not hold what it should
  kTooLarge = 4,  ///< does not fit in memory
  kNoAnswer = 5,  ///< no result within the limit, or none exists (deadlock)
};

/// One error or warning: where it is, what was found and expected, what to do about it.
struct Diagnostic {
  ErrorCode code = ErrorCode::kBadInput;  ///< what kind of error: what a program acts on
  std::string where;                      ///< file, and byte offset or row where known
  std::string what;                       ///< what was expected and what was found
  std::string hint;                       ///< what to do

  /// The same fit to be shown: what it quotes of the input has at most 200 characters, control characters and
  /// bytes that are no UTF-8 escaped.
  Diagnostic shown() const;
  std::string text() const;  ///< "where: what (hint)", as shown() has them
};

/// The caller asked for something that does not exist.
inline Diagnostic usage_error(std::string_view where, std::string what, std::string hint) {
  return {ErrorCode::kUsage, std::string(where), std::move(what), std::move(hint)};
}

/// A value or a Diagnostic. The library never throws across its public API. `*` and `->` are value().
template <typename T>
class [[nodiscard]] Result {
 public:
  /// a success
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// a failure
  Result(Diagnostic error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  /// whether there is a value; so does `if (result)`
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }              ///< @pre ok()
  const T& value() const { return std::get<0>(state_); }  ///< @pre ok()
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const { return std::get<1>(state_); }  ///< @pre not ok()

 private:
  std::variant<T, Diagnostic> state_;
};

/// Interned strings: equal text has equal id; ids count up from 0 in order of first appearance.
/// Id 0 is always the empty string. Views stay valid as long as the table lives; `table[id]` is the text.
class StringTable {
 public:
  StringTable();  ///< holds the empty string
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  StringTable(StringTable&&) noexcept = default;
  StringTable& operator=(StringTable&&) noexcept = default;

  std::uint32_t intern(std::string_view text);  ///< the text's id, new where the text is
  /// its id; nothing where nobody interned it
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }  ///< how many texts: ids are below it

 private:
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  void grow();

  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  // open addressing, id + 1; 0 is free
  std::deque<std::vector<char>> blocks_;
  std::size_t used_in_block_ = 0;
};

/// One kind of oddity met in the input: how often, and the first example in words.
struct Anomaly {
  std::string kind;         ///< stable identifier, snake_case
  std::uint64_t count = 0;  ///< how often it was met
  std::string first;        ///< first example: where and what
};

/// Counts oddities by kind; order of kinds is order of first appearance.
class Anomalies {
 public:
  /// `describe` is called only for the first of its kind.
  template <typename Describe>
  void add(std::string_view kind, Describe&& describe, std::uint64_t count = 1) {
    if (Anomaly* known = find(kind)) {
      known->count += count;
    } else {
      list_.push_back({std::string(kind), count, std::string(describe())});
    }
  }
  void merge(const Anomalies& other);  ///< adds the other's counts and kinds behind these
  std::uint64_t count(std::string_view kind) const;  ///< of this kind; 0 where there is none
  const std::vector<Anomaly>& list() const { return list_; }  ///< every kind, in order
  bool empty() const { return list_.empty(); }                ///< whether nothing odd was met

 private:
  Anomaly* find(std::string_view kind);
  std::vector<Anomaly> list_;
};

/// Runs body(0) .. body(n-1) on up to `threads` threads (0: all cores). Returns when all are done.
/// The body must write only to what belongs to its index: results then do not depend on `threads`.
void parallel_for(std::size_t n, unsigned threads, const std::function<void(std::size_t)>& body);

}  // namespace flopcast
