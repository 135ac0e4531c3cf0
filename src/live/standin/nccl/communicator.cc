// Communicators: made, split, and dropped.
#include "live/standin/nccl/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "live/standin/api/api.h"
#include "live/standin/clock/who.h"
#include "live/standin/link/link.h"
#include "live/standin/nccl/members.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// ncclUniqueId, which calls take by value.
struct UniqueId {
  char text[128];
};

std::atomic<std::uint64_t> communicators_made{0}, ids_made{0};

UniqueId fresh_unique_id() {
  UniqueId id = {};
  const char* rank = std::getenv("RANK");
  const auto number = static_cast<unsigned long long>(++ids_made);
  if (is_rank_itself()) {
    std::snprintf(id.text, sizeof id.text, "%s.%llu", rank ? rank : "0", number);
  } else {
    // Launchers need not tell ranks in the environment: the process tells its ids from others'. Its number is one of its machine's.
    const std::uint32_t machine = Link::get().common().machines.own;
    const std::string where = machine > 0 ? std::to_string(machine) + '.' : std::string();
    std::snprintf(id.text, sizeof id.text, "%s.%s%d.%llu", rank ? rank : "0", where.c_str(),
                  ::getpid(), number);
  }
  return id;
}

/// A launcher that starts ranks again may keep the store where they left their ids: a rank finds that of the attempt before
/// where the new one is not there yet. Both are the same, and what is made of them belongs to the rank's own attempt.
std::string name_in(const UniqueId& id) {
  std::string name(id.text, strnlen(id.text, sizeof id.text));
  const char* const attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return attempt && std::atoi(attempt) > 0 ? name + '@' + attempt : name;
}

/// What libraries of processes set of ncclConfig_t: the name that they give a communicator. Before NCCL 2.27 there is no place
/// for it, and that of its network has it (folded.py).
std::string_view title_in(const void* config) {
  constexpr std::size_t kTitleAt = 48, kNetworkAt = 32;
  std::size_t bytes = 0;
  if (config) std::memcpy(&bytes, config, sizeof bytes);
  for (const std::size_t at : {kTitleAt, kNetworkAt}) {
    const char* title = nullptr;
    if (bytes < at + sizeof title) continue;
    std::memcpy(&title, static_cast<const char*>(config) + at, sizeof title);
    if (title) return title;
  }
  return {};
}

/// Of a folded run: who is a member, and whose bytes theirs are.
struct Standing {
  std::vector<std::int32_t> ranks;  ///< of the run; empty: all are there
  std::vector<int> voices;
};

/// Who stands for whom in a communicator; none if nobody knows who its members are.
/// @param size 0: known only when all have split
std::optional<Standing> standing_in(std::string_view title, int size, int rank) {
  const Folded* const folded = Folded::get();
  if (!folded) return Standing();
  std::vector<std::int32_t> ranks = folded->ranks_of(title);
  if (!ranks.empty() && (size == 0 || ranks.size() == static_cast<std::size_t>(size))) {
    std::vector<int> voices = folded->voices(ranks);
    return Standing{std::move(ranks), std::move(voices)};
  }
  // Two that send and receive: both are there, but where one is alone.
  if (size == 1 || size == 2) {
    if (!folded->alone()) return Standing();
    return Standing{{}, std::vector<int>(static_cast<std::size_t>(size), rank)};
  }
  std::fprintf(stderr,
               "flopcast: error: a communicator is made whose ranks are not known: --fold wants "
               "torch.distributed's own groups; run without it\n");
  return std::nullopt;
}

Communicator* new_communicator(std::uint64_t number, std::string name, int rank, int size,
                               int device, std::vector<int> voices) {
  auto* const made = new Communicator;
  made->party = std::make_unique<Party>(number, std::move(name), rank, size, std::move(voices));
  made->device = device;
  return made;
}

int make_communicator(void** handle, int size, std::string name, int rank, int device,
                      const void* config = nullptr) {
  if (!handle || rank < 0 || rank >= size) return kNcclInvalidArgument;
  std::optional<Standing> standing = standing_in(title_in(config), size, rank);
  if (!standing) return kNcclInvalidUsage;
  const std::uint64_t number = ++communicators_made;
  if (!standing->ranks.empty()) say_members(number, standing->ranks);
  Communicator* const made =
      new_communicator(number, std::move(name), rank, size, device, std::move(standing->voices));
  *handle = made;
  join_or_collect(*made);
  return kNcclSuccess;
}

int split_communicator(Communicator& parent, int colour, int key, void** handle,
                       const void* config) {
  std::optional<Standing> standing = Standing();
  if (colour >= 0) standing = standing_in(title_in(config), 0, 0);
  if (!standing) return kNcclInvalidUsage;
  const std::uint64_t number = ++communicators_made;
  if (!standing->ranks.empty()) say_members(number, standing->ranks);
  Record record = record_on(nullptr, Act::kSplitGroup);
  record.word[0] = parent.party->communicator;
  record.word[1] = static_cast<std::uint64_t>(static_cast<std::int64_t>(colour));
  record.word[2] = static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
  record.word[3] = number;
  const std::uint64_t place = Link::get().ask(record).value;
  const std::uint64_t split_number = parent.splits++;
  *handle = nullptr;
  if (colour < 0) return kNcclSuccess;
  // As the session names it: no two parts of the run have the same name.
  std::string name =
      parent.party->name + '/' + std::to_string(split_number) + ':' + std::to_string(colour);
  *handle = new_communicator(number, std::move(name), static_cast<int>(place >> 32),
                             static_cast<int>(place & 0xffffffff), parent.device,
                             std::move(standing->voices));
  return kNcclSuccess;
}

/// Those that are left out do not call: each of the others knows who is left.
int shrink_communicator(Communicator& parent, const int* without, int count, void** handle) {
  const int* const end = without + count;
  const Party& party = *parent.party;
  int rank = 0, size = 0;
  for (int member = 0; member < party.size; ++member) {
    if (std::find(without, end, member) != end) continue;
    if (member < party.rank) ++rank;
    ++size;
  }
  if (std::find(without, end, party.rank) != end) return kNcclInvalidArgument;
  return make_communicator(handle, size,
                           party.name + "/without " + std::to_string(parent.shrinks++), rank,
                           parent.device);
}

/// NCCL waits until no graph has its calls: whoever goes on here would not on GPUs.
void warn_of_graphs(const Communicator& communicator) {
  static std::atomic<bool> warned{false};
  if (communicator.dropped.use_count() == 1 || warned.exchange(true)) return;
  const char* const rank = std::getenv("RANK");
  std::fprintf(
      stderr,
      "flopcast: warning: rank %s destroys a communicator whose calls a CUDA graph has captured: "
      "on GPUs NCCL waits "
      "for ever for that graph to be destroyed (delete the graph before the process group)\n",
      rank ? rank : "0");
}

int drop_communicator(void* handle) {
  Communicator* const own = communicator_of(handle);
  if (!own) return kNcclSuccess;
  warn_of_graphs(*own);
  *own->dropped = true;
  Record record = record_on(nullptr, Act::kDropGroup);
  record.word[0] = own->party->communicator;
  Link::get().say(record);
  Payload::get().retire(std::move(own->party));
  delete own;
  return kNcclSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

/// One rank makes it and tells the others by its own means.
FLOPCAST_API int ncclGetUniqueId(UniqueId* id) {
  if (!id) return kNcclInvalidArgument;
  *id = fresh_unique_id();
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommInitRank(void** handle, int size, UniqueId id, int rank) {
  return make_communicator(handle, size, name_in(id), rank, current_device());
}
/// A communicator that is asked not to block is ready when the call returns, which that allows.
FLOPCAST_API int ncclCommInitRankConfig(void** handle, int size, UniqueId id, int rank,
                                        void* config) {
  return make_communicator(handle, size, name_in(id), rank, current_device(), config);
}
FLOPCAST_API int ncclCommInitRankScalable(void** handle, int size, int rank, int ids, UniqueId* id,
                                          void* config) {
  if (ids < 1 || !id) return kNcclInvalidArgument;
  return make_communicator(handle, size, name_in(*id), rank, current_device(), config);
}
/// All ranks are devices of this process.
FLOPCAST_API int ncclCommInitAll(void** handles, int size, const int* devices) {
  if (!handles || size < 1) return kNcclInvalidArgument;
  const std::string name = name_in(fresh_unique_id());
  begin_group();
  for (int rank = 0; rank < size; ++rank)
    make_communicator(&handles[rank], size, name, rank, devices ? devices[rank] : rank);
  return end_group();
}
FLOPCAST_API int ncclCommSplit(void* parent, int colour, int key, void** handle, void* config) {
  if (!parent || !handle) return kNcclInvalidArgument;
  return split_communicator(*communicator_of(parent), colour, key, handle, config);
}
FLOPCAST_API int ncclCommShrink(void* parent, int* without, int count, void** handle, void*, int) {
  if (!parent || !handle || count < 0 || (count > 0 && !without)) return kNcclInvalidArgument;
  return shrink_communicator(*communicator_of(parent), without, count, handle);
}

FLOPCAST_API int ncclCommFinalize(void*) { return kNcclSuccess; }
FLOPCAST_API int ncclCommDestroy(void* handle) { return drop_communicator(handle); }
FLOPCAST_API int ncclCommAbort(void* handle) { return drop_communicator(handle); }
FLOPCAST_API int ncclCommRevoke(void*, int) { return kNcclSuccess; }

FLOPCAST_API int ncclCommGetAsyncError(void* handle, int* status) {
  if (!handle || !status) return kNcclInvalidArgument;
  *status = kNcclSuccess;  // a rank that fails ends the whole run
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommCount(void* handle, int* size) {
  if (!handle || !size) return kNcclInvalidArgument;
  *size = communicator_of(handle)->party->size;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommUserRank(void* handle, int* rank) {
  if (!handle || !rank) return kNcclInvalidArgument;
  *rank = communicator_of(handle)->party->rank;
  return kNcclSuccess;
}
FLOPCAST_API int ncclCommCuDevice(void* handle, int* device) {
  if (!handle || !device) return kNcclInvalidArgument;
  *device = communicator_of(handle)->device;
  return kNcclSuccess;
}
