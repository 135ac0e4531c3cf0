#include "live/values/plugin.h"

#include "live/values/movement.h"
#include "live/values/validity.h"

namespace flopcast::live {
namespace {

thread_local int values_made_elsewhere = 0;

}  // namespace

bool values_move() { return values_made_elsewhere == 0; }

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

void flopcast_live_values_begin() { ++values_made_elsewhere; }
void flopcast_live_values_end() { --values_made_elsewhere; }
