// Streams and events, and the one way on which work gets onto a stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "live/standin/api/api.h"
#include "live/standin/link/not_ended.h"
#include "live/wire/record.h"

namespace flopcast::live {

struct Capture;
struct Node;

/// Behind a handle that programs hold. Streams are numbered in the order of their making.
struct StreamObject {
  std::uint64_t number = 0;
  int device = 0;
  int priority = 0;
  bool blocking = true;
  Capture* capture = nullptr;    ///< what becomes of its work; null: it is done
  std::vector<Node*> tail = {};  ///< that its next node comes after
};
struct EventObject {
  std::uint64_t number = 0;
  bool keeps_times = true;
  bool recorded = false;
  EventPlace place = {};         ///< where it was last recorded
  std::uint64_t capture = 0;     ///< in which it was last recorded, 0: in none
  std::vector<Node*> tail = {};  ///< there
};

/// A piece of work, and all that a graph has to keep of it.
struct Work {
  Record record;
  Dim3 grid = {}, block = {};
  std::size_t shared = 0;             ///< bytes of a block
  void* kernel = nullptr;             ///< whose launch it is
  std::function<void()> effect = {};  ///< what it does to memory, or the application's function
  /// Of a graph's kernel: what it is told as at a launch, where that hangs on values; empty: as its record says.
  std::function<std::uint32_t()> signature = {};
  /// Of a graph's: whether what it is a call of (a communicator) is no more. Who makes it sees how many graphs' works know it.
  std::shared_ptr<const bool> dropped = {};
};

/// The stream behind a handle; null for the default stream of this thread's device.
StreamObject* stream_object(void* stream);
/// The default stream of this thread's device.
bool is_default(void* stream);
/// A record of a call about this stream.
Record record_on(void* stream, Act act);
/// A number that no stream or event of this process has yet.
std::uint64_t next_stream();
std::uint64_t next_event();

/// Puts work on a stream: it is told to the engine and does what it does; or it goes into the graph that the
/// stream captures. @return the node that it became; null if none
Node* put(void* stream, Work work);
/// Whether the stream captures. What may not be done then is refused (status of cudaError_t), and the capture
/// is invalid.
bool captures(void* stream);
int refuse_in_capture(void* stream);
/// Whether this thread may not do now what would be unsafe in another one's capture: allocate, wait for all.
bool forbidden_by_capture();
/// An event that a capturing stream records, and a stream that waits for it: it joins the capture.
void record_in_capture(EventObject& event, StreamObject& stream);
int wait_in_capture(StreamObject* stream, const EventObject& event);
/// Whether the event was last recorded in a capture that is still under way.
bool is_captured(const EventObject& event);

/// Tells the engine of work, whose record is this one.
void tell(const Work& work, Record record);
/// Tells it and returns when it is done.
void tell_and_wait(const Work& work);

/// A profiler: what the engine is told of goes through it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Before it is told; the record may be marked.
  virtual void begins(const Work& work, Record& record) = 0;
  /// It has been told, under this number of the process's records.
  virtual void told(const Work& work, const Record& record, std::uint32_t number) = 0;
  /// A thread has waited, since `begin` of its virtual time in nanoseconds.
  virtual void waited(Act act, std::int64_t begin) = 0;
  /// A thread begins or ends something that has a place in time, and tells nothing.
  virtual void looked() = 0;
};
inline std::atomic<Watcher*> watcher{nullptr};

}  // namespace flopcast::live
