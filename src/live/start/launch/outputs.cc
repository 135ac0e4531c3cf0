#include "live/start/launch/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace flopcast::live {
namespace {

constexpr std::size_t kMostHeld = std::size_t{1} << 20;  // of a line without an end
constexpr auto kLineTakes = std::chrono::milliseconds(200);
constexpr auto kDrawAgainAfter = std::chrono::milliseconds(100);
constexpr const char* kEraseLine = "\r\033[K";

Diagnostic no_output(std::string_view what) {
  return {ErrorCode::kBadInput, "live run", fmt::format("{}: {}", what, std::strerror(errno)),
          "fewer ranks need fewer open files: see ulimit -n"};
}

/// Bytes go through a terminal of ours as they are: the one that is looked at changes them.
bool make_plain(int terminal, int like) {
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) return false;
  ::cfmakeraw(&settings);
  winsize size{};
  if (::ioctl(like, TIOCGWINSZ, &size) == 0) ::ioctl(terminal, TIOCSWINSZ, &size);
  return ::tcsetattr(terminal, TCSANOW, &settings) == 0;
}

bool open_terminal(Descriptor& ours, Descriptor& theirs, int like) {
  ours = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> name{};
  if (!ours || ::grantpt(ours.get()) != 0 || ::unlockpt(ours.get()) != 0 ||
      ::ptsname_r(ours.get(), name.data(), name.size()) != 0)
    return false;
  theirs = Descriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  return theirs && make_plain(theirs.get(), like);
}

bool open_pipe(Descriptor& ours, Descriptor& theirs) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  return true;
}

/// What PyTorch's C++ remarks on ("[rank0]:[W1129 02:03:47 ProcessGroupNCCL.cpp:170] ... was not finalized"), also on its way
/// out, when the program has said why.
bool is_note(std::string_view line) {
  if (line.starts_with("[rank")) line.remove_prefix(std::min(line.find(':') + 1, line.size()));
  if (!line.starts_with("[W") && !line.starts_with("[I")) return false;
  const std::string_view day = line.substr(2, 4);
  return day.size() == 4 &&
         std::all_of(day.begin(), day.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Outputs::Outputs(const int (&ours)[2])
    : ours_{ours[0], ours[1]}, terminal_{::isatty(ours[0]) == 1, ::isatty(ours[1]) == 1} {}

Result<std::unique_ptr<Outputs>> Outputs::make(std::size_t processes, const int (&ours)[2]) {
  std::unique_ptr<Outputs> outputs(new Outputs(ours));
  outputs->streams_.reserve(2 * processes);
  for (std::size_t process = 0; process < processes; ++process) {
    for (const int number : {0, 1}) {
      Stream stream;
      stream.process = process;
      stream.number = number;
      stream.terminal = outputs->terminal_[number];
      const bool made = stream.terminal ? open_terminal(stream.ours, stream.theirs, ours[number])
                                        : open_pipe(stream.ours, stream.theirs);
      if (!made) return no_output("no pipe for the output of a rank");
      ::fcntl(stream.ours.get(), F_SETFL, O_NONBLOCK);
      outputs->streams_.push_back(std::move(stream));
    }
  }
  outputs->thread_ = std::thread([raw = outputs.get()] { raw->pass_on(); });
  return outputs;
}

Outputs::~Outputs() { finish(); }

int Outputs::end_of(std::size_t process, int stream) const {
  return streams_[2 * process + static_cast<std::size_t>(stream)].theirs.get();
}

void Outputs::all_started() {
  const std::lock_guard guard(lock_);
  for (Stream& stream : streams_) stream.theirs = Descriptor();
}

void Outputs::finish() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
  const std::lock_guard guard(lock_);
  line_.clear();
  erase_line();
}

void Outputs::show(std::string line) {
  const std::lock_guard guard(lock_);
  if (!terminal_[1]) return;
  line_ = std::move(line);
  draw_line();
}

std::string Outputs::last_line(std::size_t process) {
  const std::lock_guard guard(lock_);
  Stream& stream = streams_[2 * process + 1];
  if (!stream.ended)
    read_from(stream);  // one that has just ended may have written more than was read
  const bool counts = stream.told.empty() || !is_note(stream.last);
  std::string_view line = counts ? stream.last : stream.told;
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

// --- the thread ---------------------------------------------------------------------------------

void Outputs::pass_on() {
  std::vector<pollfd> waited;
  while (true) {
    const bool last = over_;
    waited.clear();
    for (const Stream& stream : streams_) {
      if (!stream.ended) waited.push_back({stream.ours.get(), POLLIN, 0});
    }
    if (waited.empty()) return;
    ::poll(waited.data(), waited.size(), last ? 0 : 50);
    const std::lock_guard guard(lock_);
    bool came = false;
    for (Stream& stream : streams_) came = (!stream.ended && read_from(stream)) || came;
    for (Stream& stream : streams_) release(stream, last || stream.ended);
    draw_line();
    if (last && !came) return;
  }
}

/// @return whether anything came
bool Outputs::read_from(Stream& stream) {
  std::array<char, 65536> bytes;
  ssize_t got = 0;
  const std::size_t before = stream.held.size();
  while ((got = ::read(stream.ours.get(), bytes.data(), bytes.size())) > 0) {
    const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
    if (stream.number == 1) remember(stream, text);
    stream.held += text;
    if (stream.held.size() > kMostHeld) break;  // its writer waits while we write
  }
  // A terminal whose last writer has gone says EIO; before the first has come it says so too.
  const bool over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (over && !stream.theirs) stream.ended = true;
  return stream.held.size() > before;
}

/// Keeps the last line that is not empty, and the last of those that is no note.
void Outputs::remember(Stream& stream, std::string_view text) const {
  constexpr std::size_t kMost = 2000;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (!stream.last.empty() && stream.last.back() == '\n' && !part.empty()) {
      if (!is_note(stream.last)) stream.told = stream.last;
      stream.last.clear();
    }
    if (stream.last.size() < kMost) stream.last += part.substr(0, kMost - stream.last.size());
    if (end == std::string_view::npos) return;
    if (!stream.last.empty() && stream.last.back() != '\n') stream.last += '\n';
    text.remove_prefix(end + 1);
  }
}

/// Writes what may be written now: whole lines; on a terminal also the beginning of one, which is nobody else's
/// for a while then.
void Outputs::release(Stream& stream, bool all) {
  if (stream.held.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (open_ && open_ != &stream && open_->terminal == stream.terminal &&
      now - open_since_ < kLineTakes && !all)
    return;
  const bool begun = all || stream.terminal || stream.held.size() > kMostHeld || open_ == &stream;
  const std::size_t end = begun ? stream.held.size() : stream.held.rfind('\n') + 1;
  if (end == 0) return;
  write_out(stream, std::string_view(stream.held).substr(0, end));
  const bool line_ended = stream.held[end - 1] == '\n';
  stream.held.erase(0, end);
  open_ = line_ended ? nullptr : &stream;
  open_since_ = now;
}

void Outputs::write_out(const Stream& stream, std::string_view text) {
  if (stream.terminal) erase_line();
  while (!text.empty()) {
    const ssize_t written = ::write(ours_[stream.number], text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads any more
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Outputs::erase_line() {
  if (!drawn_) return;
  drawn_ = false;
  [[maybe_unused]] const ssize_t ignored = ::write(ours_[1], kEraseLine, std::strlen(kEraseLine));
}

/// Only where the cursor is at the beginning of a line.
void Outputs::draw_line() {
  const auto now = std::chrono::steady_clock::now();
  if (line_.empty() || !terminal_[1] || (open_ && open_->terminal) ||
      now - drawn_at_ < kDrawAgainAfter)
    return;
  drawn_at_ = now;
  drawn_ = true;
  winsize size{};
  const bool known = ::ioctl(ours_[1], TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::string text =
      kEraseLine + line_.substr(0, known ? size.ws_col - 1U : std::string::npos);
  [[maybe_unused]] const ssize_t ignored = ::write(ours_[1], text.data(), text.size());
}

}  // namespace flopcast::live
