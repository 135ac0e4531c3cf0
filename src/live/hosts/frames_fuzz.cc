// Frames come from other machines: any are taken or refused, and nothing is written but where they belong.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "live/hosts/far_line.h"
#include "live/hosts/frames.h"
#include "live/hosts/post_office.h"
#include "live/wire/socket.h"
#include "support/fuzz_target.h"

namespace {

using namespace flopcast::live;  // NOLINT(google-build-using-namespace): the subject of the file

/// A machine that hears: one process of another, and letters.
class Hearing {
 public:
  ~Hearing() { ::munmap(common_, sizeof(Common)); }

  void take(std::span<const std::byte> bytes) {
    FrameReader frame(bytes);
    switch (frame.kind()) {
      case FrameKind::kLetter:
      case FrameKind::kRead:
      case FrameKind::kDone:
        static_cast<void>(office_.take(frame));
        static_cast<void>(office_.collect());
        return;
      case FrameKind::kJoin:
        static_cast<void>(frame.take<JoinFrame>().understands());
        return;
      default:
        if (line_.region) hear_of_line(line_, frame, common_->bell);
    }
    drain();
  }

 private:
  /// The engine's side: whatever is there has room, and is no more than was sent.
  void drain() {
    const std::uint32_t threads = line_.region->threads.load();
    flopcast::test::check(threads <= Region::kThreads);
    for (std::uint32_t t = 0; t < threads; ++t) {
      Ring& ring = line_.region->rings[t];
      flopcast::test::check(ring.makes_sense());
      while (ring.front()) ring.pop();
    }
  }

  static Common* map(const Descriptor& file) {
    flopcast::test::check(file.get() >= 0 && ::ftruncate(file.get(), kCommonFileBytes) == 0);
    void* const at = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, file.get(), 0);
    flopcast::test::check(at != MAP_FAILED);
    return static_cast<Common*>(at);
  }

  Descriptor file_{::memfd_create("flopcast", MFD_CLOEXEC)};
  Common* common_ = map(file_);
  FarLine line_{0};
  PostOffice office_{file_.get(), *common_, 0};
};

}  // namespace

FUZZ_TARGET(data, size) {
  Hearing hearing;
  std::span<const std::byte> left = std::as_bytes(std::span(data, size));
  while (!left.empty()) {
    const std::size_t length =
        std::min<std::size_t>(std::to_integer<std::uint8_t>(left[0]), left.size() - 1);
    hearing.take(left.subspan(1, length));
    left = left.subspan(1 + length);
  }
  return 0;
}
