// What a session asks of the rest of the house: how long work takes, and how transfers share links.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "live/wire/record.h"

namespace flopcast::live {

/// A collective that all its ranks have reached.
struct Transfer {
  Collective op = Collective::kAllReduce;
  std::int64_t bytes = 0;           ///< as nccl-tests counts them
  std::vector<std::int32_t> ranks;  ///< of the run, in the order of the communicator
  /// Others that do the same at the same time, and of whom nobody asks when they end.
  std::vector<std::vector<std::int32_t>> beside = {};
};

/// In words, for people.
std::string_view word_for(Collective op);
/// Of Record::word[1] of a call.
Collective op_of(std::uint64_t word);

/// Prices and links. Deterministic: the same questions, the same answers.
class Work {
 public:
  virtual ~Work() = default;
  /// Of a kernel. @param signature text of the record's signature
  virtual Time kernel(const Record& record, std::string_view signature) = 0;
  /// Of kCopy and kFill records.
  virtual Time copy(const Record& record) = 0;

  /// Whether a kernel multiplies on all of a chip, so that another that does waits for it.
  virtual bool fills_chip(const Record& /*record*/, std::string_view /*signature*/) {
    return false;
  }

  /// How long a transfer takes where nothing else uses its links.
  virtual Time alone(const Transfer& /*what*/) { return {}; }
  /// Share of a chip's computing that a transfer beside it takes.
  virtual double contention() const { return 0; }
  /// What a chip computes takes longer by this share for each doubling of the nodes that wait for each other: no two chips are of
  /// one speed, and the slowest sets the pace.
  virtual double straggling() const { return 0; }

  /// A transfer starts. Not before the last time advance() was told.
  virtual void begin(std::uint64_t transfer, const Transfer& what, Time start) = 0;
  /// When the first transfer ends if nothing else begins; none if none is under way.
  virtual std::optional<Time> next_end() = 0;
  /// Nothing begins before `until` any more: the transfers that end by then, and when.
  virtual std::vector<std::pair<std::uint64_t, Time>> advance(Time until) = 0;
};

/// Host time that no record tells.
struct HostTimes {
  Time launch =
      Time::from_us(4);          ///< from the start of a launch to the earliest start of its kernel
  Time wake = Time::from_us(3);  ///< from the end of what a thread waits for to its going on
  Time host_function =
      Time::from_us(5);  ///< a function that runs in stream order, and the stream's wait for it
};

}  // namespace flopcast::live
