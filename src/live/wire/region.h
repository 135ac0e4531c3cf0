// The memory that one process of the application shares with the engine: a ring per thread, and the
// texts that records name. It is made by the process, zeroed by the kernel, and takes only the pages
// that are touched; nothing of it has a name in the file system.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "live/wire/host_costs.h"
#include "live/wire/ring.h"

namespace flopcast::live {

/// Texts seen first, numbered from 1. One process writes (under a lock of its own), the engine reads.
class Arena {
 public:
  static constexpr std::uint32_t kTexts = 1 << 20;
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 26;

  /// All texts of another one, under their numbers. Nobody writes to that one meanwhile.
  void take_over(const Arena& other) {
    const std::uint32_t count = other.count_.load(std::memory_order_acquire);
    std::memcpy(ends_, other.ends_, count * sizeof *ends_);
    if (count > 0) std::memcpy(bytes_, other.bytes_, other.ends_[count - 1]);
    count_.store(count, std::memory_order_release);
  }

  /// The number of a text; none if the arena is full.
  std::optional<std::uint32_t> add(std::string_view text) {
    const std::uint32_t number = count_.load(std::memory_order_relaxed);
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    if (number == kTexts || text.size() > kBytes - begin) return std::nullopt;
    std::memcpy(bytes_ + begin, text.data(), text.size());
    ends_[number] = begin + text.size();
    count_.store(number + 1, std::memory_order_release);
    return number + 1;
  }

  /// The text of a number; none for 0, and for what is not there yet or makes no sense.
  std::optional<std::string_view> text(std::uint32_t number) const {
    if (number == 0 || number > count_.load(std::memory_order_acquire) || number > kTexts)
      return std::nullopt;
    const std::uint64_t begin = number == 1 ? 0 : ends_[number - 2], end = ends_[number - 1];
    if (begin > end || end > kBytes) return std::nullopt;
    return std::string_view(bytes_ + begin, end - begin);
  }

 private:
  std::atomic<std::uint32_t> count_{0};
  std::uint64_t ends_[kTexts];
  char bytes_[kBytes];
};

/// What a process read back of device bytes that nobody computed. The process counts, the engine reads.
struct TaintedReads {
  enum : std::uint32_t { kNobody, kBeingWritten, kWritten };
  std::atomic<std::uint64_t> reads{0}, bytes{0};
  std::atomic<std::uint64_t> assumed{0};  ///< tensors that got values assumed for tainted ones
  std::atomic<std::uint32_t> state{0};    ///< of `first`
  char first[8192] = {};  ///< who read first, and the stack of that thread; ends with 0
  std::atomic<std::uint32_t> origin_state{0};  ///< of `origin`
  /// The first work that was not computed though all that it reads was, and why; ends with 0.
  char origin[512] = {};
};

/// Where host time is modelled: stretches in which a thread of the program computed for long and called for nothing, so that they take no
/// virtual time. The process counts, the engine reads.
struct HostWork {
  static constexpr std::uint32_t kMost = 1024;
  struct Stretch {
    std::int64_t at_ns;     ///< of virtual time, since the start of the run
    std::int64_t taken_ns;  ///< of this machine's processor
  };
  std::atomic<std::uint32_t> count{0};  ///< those above kMost are not here
  Stretch stretches[kMost];
};

/// How threads in real time that look whether calls take too long (NCCL's watchdogs) see the run's time, and how the
/// engine sees that they have looked.
struct Watch {
  static constexpr std::uint32_t kPlaces = 256;
  struct Place {
    std::atomic<std::uint32_t>
        looked;  ///< 0: free; else how many looks were wanted when it last looked, + 1
    std::atomic<std::int32_t> thread;  ///< as the system numbers it
  };
  std::atomic<std::int64_t> now_ns;  ///< since the start of the run
  std::atomic<std::uint32_t>
      wanted;  ///< looks that the engine has wanted: the futex that they wait for
  Place places[kPlaces];
};

/// Where threads of a process are. The engine asks; a thread of the process that does nothing else answers.
struct Stacks {
  static constexpr std::uint32_t kThreads = 16;
  std::atomic<std::uint32_t> wanted;  ///< questions so far: the futex that the thread waits for
  std::atomic<std::uint32_t> told;    ///< of them, those that are answered
  std::uint32_t count;                ///< threads that the question is about
  std::int32_t threads[kThreads];     ///< as the system numbers them
  std::uint64_t handles[kThreads];    ///< as their C library does; 0: not known
  std::uint8_t python[kThreads];      ///< 1: the lines are Python's, else functions
  /// A thread's name, and a line for each call, innermost first. Ends with 0.
  char text[kThreads][4096];
};

/// What belongs to a process. The kernel's zeroes are its beginning: constructing it would touch every page.
struct Region {
  static constexpr std::uint32_t kVersion = 10;
  static constexpr std::uint32_t kThreads = 256;
  static constexpr std::uint32_t kDevices = 64;

  std::uint32_t version;             ///< of these structures
  std::atomic<std::int32_t> pid{0};  ///< of the process; 0: it is about to be started
  std::int32_t rank = 0;             ///< as the launcher counts; -1: it has not said
  /// Most that was taken of a device's memory at any time.
  std::atomic<std::uint64_t> most_memory[kDevices];
  std::atomic<std::uint32_t> threads{0};  ///< rings in use: the first so many
  std::atomic<std::uint32_t> ended{0};    ///< its exit status + 1, once it ends by itself
  TaintedReads tainted;
  HostWork host_work;
  Watch watch;
  Stacks stacks;
  Ring rings[kThreads];
  Arena arena;
};

/// What a GPU of the cluster says of itself.
struct DeviceFacts {
  char name[128] = {};
  std::uint64_t memory_bytes = 0, l2_bytes = 0;
  std::uint32_t cores = 0;               ///< streaming multiprocessors
  std::uint32_t major = 0, minor = 0;    ///< compute capability
  std::uint32_t clock_khz = 0;           ///< its highest; 0: not known, as all below
  std::uint32_t lanes = 0;               ///< cores of a multiprocessor
  std::uint32_t power_mw = 0;            ///< rated
  std::uint32_t idle_mw = 0;             ///< where nothing runs
  std::uint32_t cool_c = 0, warm_c = 0;  ///< degrees where nothing runs, and at rated power
  std::uint32_t nvlinks = 0;             ///< of one device
  std::uint32_t nvlink_version = 0;      ///< nvmlNvlinkVersion_t
  std::uint32_t nvlink_switch =
      0;  ///< 1: they go to a switch, else to every other device of the node
  std::uint32_t nvlink_group = 0;  ///< devices of the node that they join
  std::uint32_t nvlink_mbs = 0;    ///< of one link, one direction: 10^6 bytes a second
  std::uint32_t pcie_generation = 0, pcie_lanes = 0;
};

/// Machines that the processes of a run are on, where these are several. Each has memory of its own that its processes share.
struct Machines {
  static constexpr std::uint32_t kMost = 256;
  using Address = std::uint8_t[16];  ///< of IPv6, or of IPv4 behind twelve zeroes
  std::uint32_t count = 0;           ///< 0: one alone
  std::uint32_t own = 0;             ///< number of this one
  std::uint16_t port = 0;            ///< of the connections by which they are one run
  Address addresses[kMost] = {};     ///< by which they know each other

  bool are_several() const { return count > 1; }
  bool has(const Address& address) const {
    for (std::uint32_t i = 0; i < (count < kMost ? count : kMost); ++i) {
      if (std::memcmp(addresses[i], address, sizeof address) == 0) return true;
    }
    return false;
  }
};

/// What all processes of a run on one machine and the engine, or who is there in its place, share. Made by the latter.
struct Common {
  Doorbell bell;
  std::int64_t start_ns = 0;  ///< virtual time begins here, since 1970
  std::uint32_t devices = 0;  ///< of a node
  DeviceFacts device;         ///< all are alike
  double host_factor = 0;     ///< host time is measured processor time, times this; 0: modelled
  std::atomic<std::uint32_t> over{0};          ///< 1: the engine hears nobody any more
  std::atomic<std::uint32_t> outboxes{0};      ///< taken by processes, see mail.h
  std::atomic<std::uint64_t> shared{0};        ///< bytes of the file taken by kSharedBegin's
  std::atomic<std::uint32_t> told_tainted{0};  ///< 1: a read of what nobody computed was told
  HostCosts host;                              ///< zero: what records say
  Machines machines;
};

}  // namespace flopcast::live
