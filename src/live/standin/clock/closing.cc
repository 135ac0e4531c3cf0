// Programs that close every descriptor there is, as those do that become daemons: the line to the engine is none of
// theirs. To them its descriptors are as if nothing was open there. One that has cut it all the same does not end as if
// it had been heard.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/ends.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {
namespace {

constinit Real<int(int)> real_close{"close"};
constinit Real<int(unsigned, unsigned, int)> real_close_range{"close_range"};
constinit Real<int(int, int)> real_dup2{"dup2"};
constinit Real<int(int, int, int)> real_dup3{"dup3"};
constinit Real<void(int)> real_exit_at_once{"_exit"};

/// Of programs that end by exit(), after what they have registered for it.
__attribute__((constructor)) void tell_of_exit() {
  ::on_exit(
      [](int status, void*) {
        close_channels(true);
        Link::end_of_program(status);
      },
      nullptr);
}

[[noreturn]] void exit_at_once(int status) {
  close_channels(true);
  Link::end_of_program(status);
  real_exit_at_once(status);
  __builtin_unreachable();
}

/// All but the line's. @return 0, or the first failure
int close_others(unsigned first, unsigned last, int flags) {
  Link* const link = Link::opened();
  std::array<int, 2> kept = link ? link->descriptors() : std::array<int, 2>{-1, -1};
  std::sort(kept.begin(), kept.end());
  int result = 0;
  for (const int own : kept) {
    const auto at = static_cast<unsigned>(own);
    if (own < 0 || at < first || at > last) continue;
    if (at > first && result == 0) result = real_close_range(first, at - 1, flags);
    first = at + 1;
  }
  return first <= last && result == 0 ? real_close_range(first, last, flags) : result;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int close(int descriptor) {
  const Link* const link = Link::opened();
  if (!link || !link->is_own(descriptor)) {
    close_channel(descriptor);
    forget_ends(descriptor);
    return real_close(descriptor);
  }
  errno = EBADF;
  return -1;
}

FLOPCAST_INTERPOSED void _exit(int status) { exit_at_once(status); }
FLOPCAST_INTERPOSED void _Exit(int status) noexcept { exit_at_once(status); }

FLOPCAST_INTERPOSED int close_range(unsigned first, unsigned last, int flags) noexcept {
  forget_all_ends();
  return close_others(first, last, flags);
}

FLOPCAST_INTERPOSED void closefrom(int first) noexcept {
  forget_all_ends();
  close_others(static_cast<unsigned>(std::max(first, 0)), ~0U, 0);
}

FLOPCAST_INTERPOSED int dup2(int descriptor, int as) noexcept {
  const int number = real_dup2(descriptor, as);
  forget_ends(as);
  return number;
}

FLOPCAST_INTERPOSED int dup3(int descriptor, int as, int flags) noexcept {
  const int number = real_dup3(descriptor, as, flags);
  forget_ends(as);
  return number;
}
