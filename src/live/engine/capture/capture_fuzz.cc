// Any bytes behind a frame's checksum: a capture that can be told again to its end, or an error.
#include <string>
#include <string_view>

#include "base/pack/columns.h"
#include "live/engine/capture/capture.h"
#include "live/engine/capture/layout.h"
#include "live/engine/capture/resolve.h"
#include "support/fuzz_target.h"
#include "support/plain_work.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;        // NOLINT(google-build-using-namespace): the subject of the file
  using namespace flopcast::live;  // NOLINT(google-build-using-namespace): the same
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  (void)parse_capture(content, "input");
  std::string whole(kCaptureMagic);
  for (std::string_view left = content; !left.empty();) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(left[0]), left.size() - 1);
    const std::string frame = compressed(left.substr(1, length));
    for (std::size_t i = 0; i < 4; ++i) whole += static_cast<char>(frame.size() >> (8 * i));
    whole += frame;
    left.remove_prefix(1 + length);
  }
  const Result<Capture> capture = parse_capture(whole, "input");
  if (!capture) return 0;
  PlainWork work;
  Session session(work);
  session.set_folding(capture->facts.folding);
  (void)retell(*capture, session, [] {});
  return 0;
}
