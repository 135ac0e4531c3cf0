#include "flopcast/report.h"

namespace flopcast {
std::string replay_html(const TraceSet&, const Replay&) { return {}; }
}  // namespace flopcast
