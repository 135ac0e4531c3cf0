#include "live/standin/values/tainted_reads.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "live/standin/link/link.h"
#include "live/standin/stacks/stack.h"
#include "live/standin/values/inside.h"
#include "live/standin/values/settings.h"

namespace flopcast::live {
namespace {

bool is_strict() { return value_settings().strict; }

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

/// "  File "train.py", line 7, in main", the last of them.
std::string last_place(const std::string& stack) {
  const std::size_t at = stack.rfind("  File ");
  if (at == stack.npos) return "";
  const std::size_t begin = at + 2;
  return ", at " + stack.substr(begin, stack.find('\n', begin) - begin);
}

void tell(const std::string& what, const std::string& stack) {
  const char* const rank = std::getenv("RANK");
  std::string answer = "zero";
  if (const NumbersRead numbers = numbers_read(); numbers.count > 0 && numbers.bits != 0)
    answer = std::isnan(value_settings().tainted) ? "nan" : "the number of --values tainted";
  std::fprintf(stderr,
               "flopcast: warning: rank %s reads values that were not computed, as %s: %s%s "
               "(--values execute:N computes larger tensors)\n",
               rank ? rank : "0", answer.c_str(), what.c_str(), last_place(stack).c_str());
}

thread_local NumbersRead reads_now;

}  // namespace

NumbersRead numbers_read() { return reads_now; }

bool origin_wanted() {
  return Link::get().tainted_reads().origin_state.load(std::memory_order_relaxed) ==
         TaintedReads::kNobody;
}

void not_computed(const char* what, const char* why) {
  TaintedReads& told = Link::get().tainted_reads();
  std::uint32_t nobody = TaintedReads::kNobody;
  if (!told.origin_state.compare_exchange_strong(nobody, TaintedReads::kBeingWritten)) return;
  std::snprintf(told.origin, sizeof told.origin, "%s: %s", what, why);
  told.origin_state.store(TaintedReads::kWritten, std::memory_order_release);
}

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
  std::uint32_t untold = 0;
  if (Link::get().shared().told_tainted.compare_exchange_strong(untold, 1)) tell(what, stack);
}

void count_assumed() {
  Link::get().tainted_reads().assumed.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace flopcast::live

bool flopcast_live_origin_wanted() { return flopcast::live::origin_wanted(); }
void flopcast_live_not_computed(const char* what, const char* why) {
  flopcast::live::not_computed(what, why);
}
void flopcast_live_reads_numbers(std::uint64_t bits, std::size_t width, std::size_t count) {
  flopcast::live::reads_now = {bits, width, count};
}
double flopcast_live_tainted_number() {
  const FlopcastValues& wants = flopcast::live::value_settings();
  const bool spared = wants.spares_programs && flopcast::live::reader_looks_for_finite();
  return spared ? 0 : wants.tainted;
}
