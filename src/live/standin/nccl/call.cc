#include "live/standin/nccl/call.h"

#include <algorithm>

#include "live/standin/nccl/reduce.h"
#include "live/standin/values/settings.h"

namespace flopcast::live {
namespace {

constexpr std::size_t kMostCarried = std::size_t{4} << 20;
/// Whatever a run executes: letters have to find room.
constexpr std::size_t kMostEver = std::size_t{64} << 20;

/// What one member gives to all, or to one.
std::size_t bytes_of_part(const Call& call) { return call.count * bytes_of(call.element); }
std::size_t bytes_of_parts(const Call& call, int size) {
  return bytes_of_part(call) * static_cast<std::size_t>(size);
}

}  // namespace

bool between_two(Collective op) { return op == Collective::kSend || op == Collective::kReceive; }

std::size_t bytes_given(const Call& call, int rank, int size) {
  const bool root = rank == call.peer;
  switch (call.op) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kSend:
      return bytes_of_part(call);
    case Collective::kBroadcast:
      return root ? bytes_of_part(call) : 0;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return bytes_of_parts(call, size);
    case Collective::kScatter:
      return root ? bytes_of_parts(call, size) : 0;
    case Collective::kReceive:
    case Collective::kBarrier:
      return 0;
  }
  return 0;
}

std::size_t bytes_got(const Call& call, int rank, int size) {
  const bool root = rank == call.peer;
  switch (call.op) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduceScatter:
    case Collective::kScatter:
    case Collective::kReceive:
      return bytes_of_part(call);
    case Collective::kReduce:
      return root ? bytes_of_part(call) : 0;
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return bytes_of_parts(call, size);
    case Collective::kGather:
      return root ? bytes_of_parts(call, size) : 0;
    case Collective::kSend:
    case Collective::kBarrier:
      return 0;
  }
  return 0;
}

std::size_t bytes_counted(const Call& call, int size) {
  switch (call.op) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return bytes_of_parts(call, size);
    default:
      return bytes_of_part(call);
  }
}

bool carries(const Call& call, int size) {
  const std::size_t bytes = bytes_counted(call, size);
  const std::size_t executed = std::min(
      kMostEver, static_cast<std::size_t>(value_settings().elements) * bytes_of(call.element));
  return bytes > 0 && bytes <= std::max(kMostCarried, executed);
}

bool reduces(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kReduce ||
         op == Collective::kReduceScatter;
}

std::vector<Move> moves_of(const Call& call, int rank, std::size_t members) {
  const auto own = static_cast<std::size_t>(rank), root = static_cast<std::size_t>(call.peer);
  const std::size_t part = bytes_of_part(call);
  std::vector<Move> moves;
  switch (call.op) {
    case Collective::kBroadcast:
      return {{root, 0, 0, part}};
    case Collective::kScatter:
      return {{root, own * part, 0, part}};
    case Collective::kReceive:
      return {{0, 0, 0, part}};
    case Collective::kAllGather:
    case Collective::kGather:
      for (std::size_t i = 0; i < members; ++i) moves.push_back({i, 0, i * part, part});
      return moves;
    case Collective::kAllToAll:
      for (std::size_t i = 0; i < members; ++i) moves.push_back({i, own * part, i * part, part});
      return moves;
    default:
      return moves;
  }
}

std::size_t reduced_from(const Call& call, int rank) {
  return call.op == Collective::kReduceScatter
             ? static_cast<std::size_t>(rank) * bytes_of_part(call)
             : 0;
}

}  // namespace flopcast::live
