// How threads in virtual time stand still.
#pragma once

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {

/// In pieces that grow: a notification that falls between two of them is heard of at the end of the next.
/// @param wait waits until a point of CLOCK_MONOTONIC, ETIMEDOUT if that has come
template <typename Wait>
int wait_in_pieces(std::int64_t ns, Wait wait) {
  constexpr std::int64_t kLongest = 60'000'000'000;
  int status = ETIMEDOUT;
  for (std::int64_t piece = kTooLongNs; ns > 0 && status == ETIMEDOUT; ns -= piece, piece *= 2) {
    piece = std::min({piece, kLongest, ns});
    const timespec until = real_in(piece);
    status = wait(&until);
  }
  return status;
}

/// Waits for what is not of the run, or for another thread. The engine is told if that takes too long: who was to
/// wake it may live in real time.
/// @param wait as above
template <typename Wait>
int stand_still(Standing why, const void* at, Wait wait) {
  const timespec until = real_in(kTooLongNs);
  Link& link = Link::get();
  link.block(why, at);
  int status = wait(&until);
  if (status == ETIMEDOUT) {
    link.tell_own();
    status = wait_in_pieces(kForeverS * kSecondNs, wait);
  }
  link.unblock();
  return status;
}

/// Whether threads of this process hand on what other processes send. Those live in real time.
bool is_fed();

/// Waits for what may come from such a thread: until its time has come really, which then has passed for
/// the program, too. @return false if it has
template <typename Wait>
bool stand_still_really(std::int64_t ns, const void* at, Wait wait) {
  const timespec patient = real_in(std::min(ns, kTooLongNs));
  Link& link = Link::get();
  link.block(Standing::kOutside, at);
  int status = wait(&patient);
  if (status == ETIMEDOUT && ns > kTooLongNs) {
    link.tell_own();
    status = wait_in_pieces(ns - kTooLongNs, wait);
  }
  link.unblock();
  if (status == ETIMEDOUT) sleep_ns(ns);
  return status != ETIMEDOUT;
}

/// Waits until a time, which comes when nobody can do anything before. @return false if it came
/// @param wait as above; what it waits for has come if it gives anything but ETIMEDOUT
template <typename Wait>
bool stand_still_for(std::int64_t ns, const void* at, Wait wait) {
  if (is_fed()) return stand_still_really(ns, at, wait);
  constexpr std::int64_t kShortest = 100'000, kLongest = 5'000'000;
  Link& link = Link::get();
  link.block_until(ns, at);
  std::int64_t waited = 0;
  for (std::int64_t slice = kShortest;; slice = slice < kLongest ? 2 * slice : slice) {
    const timespec until = real_in(slice);
    if (wait(&until) != ETIMEDOUT || link.expired()) break;
    waited += slice;
    if (waited < kLongNs) continue;
    link.tell_blocked(Tell::kLongSince);
    link.end_if_cut(true);
  }
  return link.unblock_timed();
}

}  // namespace flopcast::live
