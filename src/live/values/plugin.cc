#include "live/values/plugin.h"

#include <vector>

#include "live/values/inside.h"
#include "live/values/tainted_reads.h"
#include "live/values/validity.h"

namespace flopcast::live {
namespace {

thread_local int launches_only = 0;
thread_local std::vector<const char*> operators_inside;
thread_local std::uint64_t shortfalls = 0;

}  // namespace

bool values_move() { return launches_only == 0; }
void fall_short() { ++shortfalls; }

const char* operator_inside() {
  return operators_inside.empty() ? nullptr : operators_inside.back();
}

}  // namespace flopcast::live

using namespace flopcast::live;

std::uint32_t flopcast_live_version() { return kFlopcastPluginVersion; }

bool flopcast_live_valid(const void* at, std::size_t bytes) {
  return Validity::get().valid(at, bytes);
}
void flopcast_live_mark_valid(const void* at, std::size_t bytes) {
  Validity::get().mark_valid(at, bytes);
}
void flopcast_live_taint(const void* at, std::size_t bytes) { Validity::get().taint(at, bytes); }

void flopcast_live_operator_begin(const char* name) { operators_inside.push_back(name); }
void flopcast_live_operator_end() {
  if (!operators_inside.empty()) operators_inside.pop_back();
}

void flopcast_live_launches_only(bool on) { launches_only += on ? 1 : -1; }
std::uint64_t flopcast_live_shortfalls() { return shortfalls; }
void flopcast_live_assumed() { count_assumed(); }
