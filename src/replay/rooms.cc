// Who filled the SMs of a GPU, and until when, from who waited and who did not.
#include <algorithm>
#include <map>
#include <tuple>

#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {
namespace {

/// What an SM holds where the recording does not say: the same on Nvidia's GPUs since Volta.
constexpr std::int32_t kThreadsPerSm = 2048, kRegistersPerSm = 65536;
constexpr std::uint64_t kBlocksPerSm = 32;

std::uint64_t limit(std::uint64_t room, std::uint64_t use, std::uint64_t most) {
  return use == 0 || room == 0 ? most : std::min(most, room / use);
}

/// Blocks of a kernel that an SM holds at once; 0 where that is unknown.
std::uint64_t blocks_at_once(const Device& device, const KernelDetail& kernel) {
  const auto or_else = [](std::int32_t told, std::int32_t otherwise) {
    return static_cast<std::uint64_t>(told > 0 ? told : otherwise);
  };
  std::uint64_t blocks =
      limit(or_else(device.threads_per_sm, kThreadsPerSm), kernel.threads_per_block, kBlocksPerSm);
  blocks = limit(or_else(device.registers_per_sm, kRegistersPerSm),
                 std::uint64_t{kernel.registers} * kernel.threads_per_block, blocks);
  return limit(or_else(device.shared_memory_per_sm, 0), kernel.shared_memory, blocks);
}

/// The part of a kernel's time after which its last blocks are under way and leave SMs free: all
/// waves but the last, and that too if it fills the GPU. 0 where the recording does not tell.
double filling_part(const RankModel& rank, const GpuTask& task) {
  const Events& events = rank.trace->events;
  const std::uint32_t detail = events.detail[task.row];
  if (events.category[task.row] != Category::kKernel || detail == kNoDetail) return 0;
  const KernelDetail& kernel = rank.trace->kernels[detail];
  const auto device =
      std::find_if(rank.trace->devices.begin(), rank.trace->devices.end(),
                   [&](const Device& d) { return d.id == rank.streams[task.stream].device; });
  if (device == rank.trace->devices.end() || device->sm_count <= 0 || kernel.blocks == 0) return 0;
  const std::uint64_t at_once =
      blocks_at_once(*device, kernel) * static_cast<std::uint64_t>(device->sm_count);
  if (at_once == 0) return 0;
  const std::uint64_t full = kernel.blocks / at_once;  // waves that fill the GPU
  const std::uint64_t waves = (kernel.blocks + at_once - 1) / at_once;
  return static_cast<double>(full) / static_cast<double>(waves);
}

/// A task on its way into a room.
struct Comer {
  Time ready;
  TaskId task;
  std::uint32_t gpu;
};

/// The rooms of one rank.
class RoomFinder {
 public:
  RoomFinder(const Recording& recording, std::uint32_t r, const Lags& lags,
             const std::vector<Binding>& bindings, std::vector<Room>& rooms)
      : rec_(recording), r_(r), rank_(recording.ranks[r]), lags_(lags), rooms_(rooms) {
    rooms_.assign(rank_.gpu.size(), {});
    std::map<std::int32_t, std::uint32_t> streams;  // by device
    for (const Stream& stream : rank_.streams) ++streams[stream.device];
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      const Category category = rank_.trace->events.category[rank_.gpu[t].row];
      const bool runs_on_sms = category == Category::kKernel || category == Category::kMemset;
      const bool late = bindings[t].kind == EdgeKind::kOccupancy;
      Room& room = rooms_[t];
      room.whole = recorded_transfer(rec_, r_, t);
      if (runs_on_sms && streams[rank_.streams[rank_.gpu[t].stream].device] > 1) {
        room.need = late ? Room::Need::kHeld : Room::Need::kFree;
      } else {
        room.late = late;
      }
    }
    for (const GpuEdge& e : rec_.cross_stream[r_].edges) {
      if (e.kind == EdgeKind::kOccupancy) occupant_[e.target] = e.source;
    }
  }

  /// Fills the rooms for the order in which tasks could start. Those that still do not start when
  /// they did become late ones. @return whether there were any.
  bool settle(const std::vector<Time>& ready, const TaskMap::Rank& map) {
    std::map<std::int32_t, std::vector<Comer>> comers;  // by device
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      if (rooms_[t].need == Room::Need::kNone) continue;
      const TaskId task = map.gpu_first[t];
      comers[rank_.streams[rank_.gpu[t].stream].device].push_back({ready[task], task, t});
    }
    bool wrong = false;
    for (auto& [device, list] : comers) {
      std::sort(list.begin(), list.end(), [](const Comer& a, const Comer& b) {
        return std::tie(a.ready, a.task) < std::tie(b.ready, b.task);
      });
      fill(list);
      wrong = check(list) || wrong;
    }
    return wrong;
  }

  bool any_late() const {
    return std::any_of(rooms_.begin(), rooms_.end(), [](const Room& room) { return room.late; });
  }
  void hold_none() {
    for (Room& room : rooms_) {
      if (room.need == Room::Need::kHeld) give_up(room);
    }
  }

 private:
  Time start(std::uint32_t t) const { return rank_.gpu[t].start; }
  static void give_up(Room& room) {
    room.need = Room::Need::kFree;
    room.late = true;
  }

  void fill(const std::vector<Comer>& list) {
    std::vector<std::uint32_t> held_by(rank_.gpu.size(), kNoIndex);  // the first held by each
    for (const Comer& c : list) {
      if (rooms_[c.gpu].need != Room::Need::kHeld) continue;
      std::uint32_t& first = held_by[occupant_.at(c.gpu)];
      if (first == kNoIndex || start(c.gpu) < start(first)) first = c.gpu;
    }
    // Whoever came later and started while a task ran shows that it kept nobody out any more.
    Time next = Time::max();
    for (auto c = list.rbegin(); c != list.rend(); ++c) {
      Room& room = rooms_[c->gpu];
      const Time most = next == Time::max() ? Time::max() : next - start(c->gpu);
      const std::uint32_t held = held_by[c->gpu];
      const bool shown = held != kNoIndex && start(held) - start(c->gpu) == most;
      room.fills = std::max(Time{}, std::min(most, shown ? most : usual(c->gpu)));
      next = std::min(next, start(c->gpu));
    }
  }

  /// Of a kernel that nobody is seen to wait for: as of others of its shape, else by its blocks.
  /// Communication kernels take few SMs.
  Time usual(std::uint32_t t) const {
    const GpuTask& task = rank_.gpu[t];
    if (task.communication || task.collective != kNoIndex) return Time{};
    const std::uint64_t shape = launch_shape(rank_, task);
    if (lags_.occupied_ppm.contains(shape)) return lags_.occupied(shape, rooms_[t].whole);
    return Time{static_cast<std::int64_t>(static_cast<double>(rooms_[t].whole.ps) *
                                          filling_part(rank_, task))};
  }

  /// Lets them in, in order.
  bool check(const std::vector<Comer>& list) {
    bool wrong = false;
    Time free = Time::min();
    for (const Comer& c : list) {
      Room& room = rooms_[c.gpu];
      const Time at = std::max(c.ready, free);
      if (at != start(c.gpu) && room.need == Room::Need::kHeld) {
        give_up(room);
        wrong = true;
      }
      if (room.fills > Time{}) free = std::max(free, at + room.fills);
    }
    return wrong;
  }

  const Recording& rec_;
  std::uint32_t r_;
  const RankModel& rank_;
  const Lags& lags_;
  std::vector<Room>& rooms_;
  std::map<std::uint32_t, std::uint32_t> occupant_;  // of each GPU task that an edge holds
};

/// When each task could start, by everything but rooms, if what it depends on is at its recorded
/// times.
std::vector<Time> ready_times(const Recording& recording, const Assembly& assembly) {
  const Graph& g = assembly.graph;
  std::vector<Time> start(g.task_count()), end(g.task_count());
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
    const RankModel& rank = recording.ranks[r];
    const TaskMap::Rank& map = assembly.map.ranks[r];
    for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
      for (std::uint32_t p = 0; p < rank.threads[t].pieces.size(); ++p) {
        const Piece& piece = rank.threads[t].pieces[p];
        start[map.piece_first[t][p]] = end[map.piece_first[t][p]] = piece.start;
        start[map.piece_last[t][p]] = piece.start;
        end[map.piece_last[t][p]] = piece.end;
      }
    }
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      start[map.gpu_first[t]] = end[map.gpu_first[t]] = rank.gpu[t].start;
      if (map.gpu_last[t] != map.gpu_first[t]) start[map.gpu_last[t]] = rank.gpu[t].end;
      end[map.gpu_last[t]] = rank.gpu[t].end;
    }
  }
  std::vector<Time> ready = assembly.release;
  for (TaskId t = 0; t < g.task_count(); ++t) {
    if (g.kind[t] == TaskKind::kRendezvous) continue;
    if (t + 1 < g.processors[g.processor[t]].last)
      ready[t + 1] = std::max(ready[t + 1], end[t] + g.gap[t + 1]);
    for (std::uint32_t e = g.edge_begin[t]; e < g.edge_begin[t + 1]; ++e) {
      Time& target = ready[g.edge_target[e]];
      target = std::max(target, (g.edge_from_start(e) ? start[t] : end[t]) + g.edge_lag[e]);
    }
  }
  return ready;
}

}  // namespace

void find_rooms(Recording& recording, const std::vector<std::vector<Binding>>& bindings) {
  recording.rooms.assign(recording.ranks.size(), {});
  recording.beside_occupancy.assign(recording.ranks.size(), {});
  const Lags lags = measure_lags(recording, bindings, LagMode::kRecorded);
  const Durations durations = recorded_durations(recording);
  std::vector<RoomFinder> finders;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r)
    finders.emplace_back(recording, r, lags, bindings[r], recording.rooms[r]);
  // A late one comes when it started, which is another order: the rest is settled again.
  constexpr int kRounds = 4;
  for (int round = 0; round <= kRounds; ++round) {
    if (round == kRounds) {
      for (RoomFinder& finder : finders) finder.hold_none();
    }
    for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
      if (finders[r].any_late() && recording.beside_occupancy[r].empty())
        recording.beside_occupancy[r] = find_bindings(recording, r, false);
    }
    const Assembly assembly = assemble(recording, durations, lags, bindings, Baseline::kNone);
    const std::vector<Time> ready = ready_times(recording, assembly);
    bool wrong = false;
    for (std::uint32_t r = 0; r < recording.ranks.size(); ++r)
      wrong = finders[r].settle(ready, assembly.map.ranks[r]) || wrong;
    if (!wrong) return;
  }
}

}  // namespace flopcast::replaying
