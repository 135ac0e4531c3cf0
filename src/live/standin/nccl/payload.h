// Bytes of collectives: given when the call is made, brought when somebody looks.
//
// A rank that waited for another's bytes as soon as it calls would hold up what the other may be waiting for. So each
// gives its own at once and goes on; what it gets is brought as soon as all have given and any call of the process
// passes by, or when it is read. A look after a wait for the stream never has to wait again: the collective has
// ended in virtual time, so all ranks have called.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "live/standin/nccl/call.h"
#include "live/standin/nccl/post.h"
#include "live/standin/values/late.h"

namespace flopcast::live {

class Party;

/// A call whose letters have not all been read.
struct Pending {
  Party* party = nullptr;
  Call call;
  std::uint64_t number = 0;        ///< of the calls of its kind, as the engine counts them
  std::vector<void*> wanted = {};  ///< where somebody may look at what it brings
};

/// One rank of a communicator, as its bytes go.
class Party {
 public:
  /// @param communicator number in this process @param name the same in all its ranks
  /// @param voices for each member the one whose bytes are its own; empty: itself
  Party(std::uint64_t communicator, std::string name, int rank, int size,
        std::vector<int> voices = {});

  std::uint64_t communicator;
  std::string name;
  int rank, size;

  /// The member whose bytes a member's are: itself, if it is there.
  int voice_of(int member) const {
    return voices_.empty() ? member : voices_[static_cast<std::size_t>(member)];
  }

  /// Calls in order: of all members, or of what one member sends to this one.
  struct Queue {
    std::vector<Reader> readers;  ///< of the members that are there
    std::deque<std::unique_ptr<Pending>> calls;
    std::uint64_t made = 0;  ///< calls so far, those that carry nothing too
    bool lost = false;       ///< a letter had no room: nothing more is brought
  };
  std::vector<std::size_t> reader_of;  ///< by member: which of `all`'s readers brings its bytes
  Queue all;
  Writer to_all;
  std::map<int, Queue> from;
  std::map<int, Writer> to;

  Queue& queue_of(const Pending& pending);
  Queue& queue_from(int member);
  Writer& writer_to(int member);

 private:
  std::vector<int> voices_;  // empty: all are there
};

class Payload final : public LateBytes {
 public:
  static Payload& get();

  /// To be called for all calls of a group call before the first is given.
  void prepare(const Party& party, const Call& call);
  /// Gives this rank's bytes, and remembers what it gets.
  void give(Party& party, const Call& call);
  /// The communicator is gone; what it still brings is brought.
  void retire(std::unique_ptr<Party> party);

  void settle(const void* at, std::size_t bytes) override;
  void overwrite(const void* at, std::size_t bytes) override;

 private:
  Payload();
  /// A call whose bytes go there, with where it has them; null: there is none.
  std::pair<void*, Pending*> overlapping(const void* at, std::size_t bytes);
  bool bring_first(Party::Queue& queue);
  void bring_what_is_there();
  void want(Pending& pending, void* at);
  void unwant(Pending& pending, void* at);
  void drop_retired();

  std::atomic<std::size_t> outstanding_{0};  ///< of `wanted_`
  std::mutex lock_;
  std::map<std::uintptr_t, Pending*> wanted_;  ///< by where their bytes go; no two overlap
  std::vector<Party*> parties_;                ///< that have calls under way
  std::vector<std::unique_ptr<Party>> retired_;
};

}  // namespace flopcast::live
