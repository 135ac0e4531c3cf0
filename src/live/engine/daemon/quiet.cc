#include "live/engine/daemon/quiet.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

constexpr auto kNobodyWaitsFor = std::chrono::minutes(1);

/// The beginning of a file of the kernel's; none if it is not there (any more).
class KernelFile {
 public:
  std::optional<std::string_view> read(int folder, const char* name) {
    const Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), bytes_.data(), bytes_.size()) : -1;
    if (size < 0) return std::nullopt;
    return std::string_view(bytes_.data(), static_cast<std::size_t>(size));
  }

 private:
  std::array<char, 4096> bytes_;
};

template <typename Number = pid_t>
std::optional<Number> number_at(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "12 (a name) S 1 ...": it runs, may run, or waits for a disk.
bool is_busy(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  const char state = name_end + 2 < stat.size() ? stat[name_end + 2] : 'S';
  return state == 'R' || state == 'D';
}

/// Spreads what a thread has done so far over all bits: other threads' is added to it.
std::uint64_t spread(pid_t thread, std::string_view schedstat) {
  std::uint64_t hash = static_cast<std::uint64_t>(thread);
  for (const char c : schedstat)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u + (hash >> 29);
  return hash;
}

}  // namespace

Sight Quiet::see(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked) {
  const Clock::time_point now = Clock::now();
  Sight sight;
  KernelFile file;
  std::unordered_map<pid_t, Clock::time_point> busy_since;
  const pid_t own = ::getpid();
  busy_.clear();
  std::vector<std::pair<pid_t, pid_t>> next{{own, own}};  // root, process
  for (const pid_t process : processes) next.emplace_back(process, process);
  std::unordered_set<pid_t> seen;
  while (!next.empty()) {
    const auto [root, process] = next.back();
    next.pop_back();
    if (!seen.insert(process).second) continue;
    DIR* const threads = ::opendir(fmt::format("/proc/{}/task", process).c_str());
    if (!threads) continue;
    while (const dirent* const entry = ::readdir(threads)) {
      std::string_view name = entry->d_name;
      const std::optional<pid_t> thread = number_at(name);
      if (!thread) continue;
      const Descriptor folder(
          ::openat(::dirfd(threads), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (auto children = file.read(folder.get(), "children")) {
        while (const auto child = number_at(*children)) next.emplace_back(root, *child);
      }
      if (process == own || clocked.contains(*thread)) continue;
      const auto stat = file.read(folder.get(), "stat");
      if (stat && is_busy(*stat)) {
        const auto known = busy_since_.find(*thread);
        const auto since = known == busy_since_.end() ? now : known->second;
        busy_since[*thread] = since;
        if (now - since >= kNobodyWaitsFor) continue;
        sight.busy = true;
        busy_.push_back({root, process, *thread});
      }
      if (const auto runs = file.read(folder.get(), "schedstat"))
        sight.runs += spread(*thread, *runs);
    }
    ::closedir(threads);
  }
  busy_since_ = std::move(busy_since);
  return sight;
}

/// A walk takes a while, and a message from a thread not seen yet may wake one that was. But if no thread has run
/// between one walk and the next, what the first saw was so all at once.
bool Quiet::look(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked) {
  const Sight first = see(processes, clocked);
  if (first.busy) return false;
  const Sight second = see(processes, clocked);
  return !second.busy && first.runs == second.runs;
}

namespace {

/// "0100000A:1F90" of the kernel's tables of connections: words as they lie in memory. None if it is no address.
std::optional<std::uint16_t> port_in(std::string_view text, Machines::Address& host) {
  const std::size_t colon = text.find(':');
  constexpr std::size_t kV4 = 8, kV6 = 32;
  if (colon != kV4 && colon != kV6) return std::nullopt;
  std::memset(host, 0, sizeof host);
  const auto hexadecimal = [&text](std::size_t at, std::size_t digits) {
    std::uint32_t number = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, number, 16);
    return number;
  };
  std::uint8_t* const to = colon == kV4 ? host + 12 : host;
  for (std::size_t at = 0; at < colon; at += 8) {
    const std::uint32_t word = hexadecimal(at, 8);
    std::memcpy(to + at / 2, &word, sizeof word);
  }
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(host, kMapped, sizeof kMapped) == 0) std::memset(host, 0, sizeof kMapped);
  return static_cast<std::uint16_t>(
      hexadecimal(colon + 1, std::min<std::size_t>(text.size() - colon - 1, 4)));
}

}  // namespace

bool is_under_way(const std::string& line, const Machines& machines) {
  char own_text[48] = {}, peer_text[48] = {};
  unsigned state = 0, sent = 0, user = 0;
  if (std::sscanf(line.c_str(), " %*d: %47s %47s %x %x:%*x %*x:%*x %*x %u", own_text, peer_text,
                  &state, &sent, &user) != 5)
    return false;
  constexpr unsigned kConnecting = 2;
  if (user != ::geteuid() || (sent == 0 && state != kConnecting)) return false;
  Machines::Address own{}, peer{};
  const auto own_port = port_in(own_text, own), peer_port = port_in(peer_text, peer);
  if (!own_port || !peer_port || *own_port == machines.port || *peer_port == machines.port)
    return false;
  return machines.has(peer) && std::memcmp(own, peer, sizeof own) != 0;
}

bool is_sending(const Machines& machines) {
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      if (is_under_way(line, machines)) return true;
    }
  }
  return false;
}

void add_clocked(Region& region, std::unordered_set<pid_t>& clocked) {
  const std::uint32_t threads =
      std::min(region.threads.load(std::memory_order_acquire), Region::kThreads);
  for (std::uint32_t t = 0; t < threads; ++t)
    clocked.insert(region.rings[t].clocked.load(std::memory_order_relaxed));
  for (const Watch::Place& place : region.watch.places)
    clocked.insert(place.thread.load(std::memory_order_relaxed));
}

std::optional<ThreadTimes> times_of(pid_t process, pid_t thread) {
  const std::string folder = fmt::format("/proc/{}/task/{}/", process, thread);
  KernelFile file;
  const auto stat = file.read(AT_FDCWD, (folder + "stat").c_str());
  if (!stat) return std::nullopt;
  ThreadTimes times{.busy = is_busy(*stat)};
  auto runs = file.read(AT_FDCWD, (folder + "schedstat").c_str());
  if (!runs) return std::nullopt;
  times.cpu_ns = number_at<std::uint64_t>(*runs).value_or(0);  // ran, waited, how often
  number_at<std::uint64_t>(*runs);
  times.runs = number_at<std::uint64_t>(*runs).value_or(0);
  return times;
}

bool has_ended(pid_t process) {
  KernelFile file;
  const auto stat = file.read(AT_FDCWD, fmt::format("/proc/{}/stat", process).c_str());
  if (!stat) return true;
  std::string_view left = stat->substr(stat->rfind(')') + 1);
  constexpr std::size_t kStateBegin = 1;  // behind a blank
  const char state = left.size() > kStateBegin ? left[kStateBegin] : 'X';
  if (state == 'Z' || state == 'X') return true;
  left.remove_prefix(kStateBegin + 1);
  for (int i = 0; i < 5; ++i) number_at<std::int64_t>(left);  // who it belongs to
  constexpr std::uint64_t kExiting = 4;                       // PF_EXITING
  return (number_at<std::uint64_t>(left).value_or(0) & kExiting) != 0;
}

std::string name_of(pid_t process, pid_t thread) {
  KernelFile file;
  const auto name =
      file.read(AT_FDCWD, fmt::format("/proc/{}/task/{}/comm", process, thread).c_str());
  return name ? std::string(name->substr(0, name->find('\n'))) : std::string();
}

}  // namespace flopcast::live
