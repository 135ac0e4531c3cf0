#include "live/standin/values/plugin.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "live/standin/link/link.h"
#include "live/standin/values/inside.h"
#include "live/standin/values/late.h"
#include "live/standin/values/tainted_reads.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

thread_local int launches_only = 0;
thread_local std::vector<const char*> operators_inside;
thread_local std::uint64_t shortfalls = 0;
/// Of the last work; a graph may be gone when the next operator begins.
thread_local Effect* last_captured = nullptr;
std::atomic<int> captures_under_way{0};

}  // namespace

bool values_move() { return launches_only == 0; }
void fall_short() { ++shortfalls; }

void gave_work(Effect* captured) { last_captured = captured; }
void capture_begins() { ++captures_under_way; }
void capture_ends() { --captures_under_way; }

const char* operator_inside() {
  return operators_inside.empty() ? nullptr : operators_inside.back();
}

}  // namespace flopcast::live

using namespace flopcast::live;

std::uint32_t flopcast_live_version() { return kFlopcastPluginVersion; }

bool flopcast_live_valid(const void* at, std::size_t bytes) {
  settle_bytes(at, bytes);
  return Validity::get().valid(at, bytes);
}
void flopcast_live_mark_valid(const void* at, std::size_t bytes) {
  overwrite_bytes(at, bytes);
  Validity::get().mark_valid(at, bytes);
}
void flopcast_live_taint(const void* at, std::size_t bytes) {
  overwrite_bytes(at, bytes);
  Validity::get().taint(at, bytes);
}

void flopcast_live_operator_begin(const char* name) {
  if (operators_inside.empty()) last_captured = nullptr;
  operators_inside.push_back(name);
}
void flopcast_live_operator_end() {
  if (!operators_inside.empty()) operators_inside.pop_back();
}

void flopcast_live_launches_only(bool on) { launches_only += on ? 1 : -1; }
void flopcast_live_own_work(bool begins) { Link::get().own_work(begins); }

std::uint64_t flopcast_live_shortfalls() { return shortfalls; }

bool flopcast_live_capturing() { return captures_under_way.load(std::memory_order_relaxed) > 0; }
bool flopcast_live_captured() { return last_captured != nullptr; }
void flopcast_live_when_launched(void (*run)(void*), void* data, void (*drop)(void*)) {
  const std::shared_ptr<void> kept(data, drop);
  if (!last_captured) return;
  *last_captured = [before = std::move(*last_captured), run, kept] {
    if (before) before();
    run(kept.get());
  };
}

void flopcast_live_assumed() { count_assumed(); }
