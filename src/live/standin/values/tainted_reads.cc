#include "live/standin/values/tainted_reads.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "live/standin/link/link.h"
#include "live/standin/values/inside.h"
#include "live/standin/stacks/stack.h"

namespace flopcast::live {
namespace {

/// Of words with commas between them.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(','), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool is_strict() {
  static const bool strict = [] {
    const char* values = std::getenv("FLOPCAST_LIVE_VALUES");
    return values && has_word(values, "strict");
  }();
  return strict;
}

std::string what_is_read(std::size_t bytes) {
  const char* name = operator_inside();
  return std::to_string(bytes) + " bytes, in " + (name ? name : "a copy outside operators");
}

/// The last line says what it is: launchers repeat that one.
[[noreturn]] void end_strictly(const std::string& what, const std::string& stack) {
  flush_outputs();
  const char* rank = std::getenv("RANK");
  std::fprintf(
      stderr,
      "%sflopcast: error: rank %s reads values that were not computed: %s (--values strict "
      "ends a run there)\n",
      stack.c_str(), rank ? rank : "0", what.c_str());
  std::_Exit(3);
}

}  // namespace

void count_tainted_read(std::size_t bytes) {
  TaintedReads& told = Link::get().tainted_reads();
  told.reads.fetch_add(1, std::memory_order_relaxed);
  told.bytes.fetch_add(bytes, std::memory_order_relaxed);
  std::uint32_t nobody = TaintedReads::kNobody;
  const bool first = told.state.compare_exchange_strong(nobody, TaintedReads::kBeingWritten);
  if (!first && !is_strict()) return;
  const std::string what = what_is_read(bytes), stack = stack_of_thread();
  if (first) {
    const std::string all = what + "\n" + stack;
    std::memcpy(told.first, all.data(), std::min(all.size(), sizeof told.first - 1));
    told.state.store(TaintedReads::kWritten, std::memory_order_release);
  }
  if (is_strict()) end_strictly(what, stack);
}

void count_assumed() {
  Link::get().tainted_reads().assumed.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace flopcast::live
