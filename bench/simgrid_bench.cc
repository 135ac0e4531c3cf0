// The flow simulator against SimGrid: the same flows over the same routes, in the same run.
//
// SimGrid computes the routes (its fat tree, D-mod-k) and simulates with CM02, no cross-traffic, no
// TCP window, no latency, lazy updates, one actor a host. Both run in children of their own, so that
// each has its own peak memory (beside the flow set); SimGrid is cut off after a while, and ours
// simulates as far.
// FLOPCAST_BENCH_SECONDS: how long SimGrid may take for a case (default 15).
//
// simgrid_per_s, ours_per_s  completions per second of CPU, one thread
// difference                 largest relative difference between completion times
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "flow_sets.h"

namespace flopcast::bench {
namespace {

namespace sg = simgrid::s4u;

constexpr std::size_t kMaxFlows = 1 << 17, kMaxHops = 4;

/// What the children tell each other; lies in shared memory.
struct Exchange {
  std::uint32_t links;
  std::uint32_t path_size[kMaxFlows];
  LinkId path[kMaxFlows][kMaxHops];
  double reached;            ///< simulated seconds
  double seconds[2], mb[2];  ///< SimGrid, ours
  std::size_t completions[2];
  double end[2][kMaxFlows];  ///< < 0: not complete
};

struct Case {
  std::string name;
  std::function<FlowSet()> make;
  double slice;  ///< simulated seconds between looks at the clock
};

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/// Memory that a simulation takes at its peak, beside what was there before it.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak so far
    before_ = status_mb("VmRSS:");
  }
  double mb() const { return status_mb("VmHWM:") - before_; }

 private:
  static double status_mb(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
      double kib = 0;
      if (word == field && file >> kib) return kib * 1024e-6;
    }
    return 0;
  }
  double before_ = 0;
};

// --- SimGrid ------------------------------------------------------------------------------------

struct Platform {
  explicit Platform(std::uint32_t count) : engine(make_engine()) {
    const FatTree tree = fat_tree(count);
    const auto make_host = [this](sg::NetZone* zone, const std::vector<unsigned long>&,
                                  unsigned long id) {
      sg::Host* host = zone->create_host("h" + std::to_string(id), 1e9);
      if (hosts.size() <= id) hosts.resize(id + 1);
      hosts[id] = host;
      return std::make_pair(host->get_netpoint(),
                            static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
    };
    sg::create_fatTree_zone(
        "tree", nullptr,
        sg::FatTreeParams(2, {tree.leaf_hosts, tree.leaves()}, {1, tree.leaf_hosts}, {1, 1}),
        sg::ClusterCallbacks(make_host), kLinkBytesPerSecond, 0,
        sg::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
  }
  static sg::Engine* make_engine() {
    static int argc = 1;
    static char program[] = "simgrid_bench";
    static char* argv[] = {program, nullptr};
    xbt_log_control_set("root.thresh:warning");
    auto* engine = new sg::Engine(&argc, argv);
    for (const char* option :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
          "network/optim:Lazy", "surf/precision:1e-12"}) {
      sg::Engine::set_config(option);
    }
    return engine;
  }
  sg::Engine* engine;
  std::vector<sg::Host*> hosts;
};

void dump_routes(const FlowSet& set, Exchange& exchange) {
  const Platform platform(set.hosts);
  std::unordered_map<const sg::Link*, LinkId> ids;
  std::vector<sg::Link*> links;
  for (std::size_t i = 0; i < set.size(); ++i) {
    links.clear();
    double latency = 0;
    platform.hosts[set.src[i]]->route_to(platform.hosts[set.dst[i]], links, &latency);
    exchange.path_size[i] = static_cast<std::uint32_t>(links.size());
    for (std::size_t hop = 0; hop < links.size(); ++hop) {
      const auto next = static_cast<LinkId>(ids.size());
      exchange.path[i][hop] = ids.try_emplace(links[hop], next).first->second;
    }
  }
  exchange.links = static_cast<std::uint32_t>(ids.size());
}

/// Sends a host's flows at their times.
void scheduled_sender(const FlowSet& set, const std::vector<sg::Host*>& hosts, std::uint32_t self,
                      std::vector<std::uint32_t> flows, Exchange& exchange) {
  std::sort(flows.begin(), flows.end(),
            [&](std::uint32_t a, std::uint32_t b) { return set.start_ps[a] < set.start_ps[b]; });
  std::vector<std::pair<std::uint32_t, sg::CommPtr>> sent;
  const auto collect = [&] {
    std::erase_if(sent, [&](const auto& entry) {
      const double end = entry.second->get_finish_time();
      if (end >= 0) exchange.end[0][entry.first] = end;
      return end >= 0;
    });
  };
  for (const std::uint32_t flow : flows) {
    sg::this_actor::sleep_until(static_cast<double>(set.start_ps[flow]) * 1e-12);
    collect();
    sent.emplace_back(flow, sg::Comm::sendto_async(hosts[self], hosts[set.dst[flow]],
                                                   static_cast<std::uint64_t>(set.bytes[flow])));
  }
  for (auto& [flow, comm] : sent) {
    comm->wait();
    exchange.end[0][flow] = comm->get_finish_time();
  }
}

/// One rank of a ring: next message when the last has left and the one before has arrived.
void ring_rank(const FlowSet& set, std::uint32_t self, Exchange& exchange) {
  static char token = 0;
  sg::Mailbox* in = sg::Mailbox::by_name(std::to_string(self));
  sg::Mailbox* out = sg::Mailbox::by_name(std::to_string((self + 1) % set.hosts));
  in->set_receiver(sg::Actor::self());
  sg::this_actor::sleep_until(static_cast<double>(set.start_ps[self]) * 1e-12);
  for (std::size_t flow = self; flow < set.size(); flow += set.hosts) {
    const sg::CommPtr sent = out->put_async(&token, static_cast<std::uint64_t>(set.bytes[flow]));
    in->get<char>();
    sent->wait();
    exchange.end[0][flow] = sent->get_finish_time();
  }
}

void run_simgrid(const FlowSet& set, double slice, Exchange& exchange) {
  const char* named = std::getenv("FLOPCAST_BENCH_SECONDS");
  const double limit = named != nullptr ? std::atof(named) : 15;
  const PeakMemory memory;
  const Platform platform(set.hosts);
  std::vector<std::vector<std::uint32_t>> by_source(set.hosts);
  for (std::uint32_t i = 0; i < set.size(); ++i) by_source[set.src[i]].push_back(i);
  for (std::uint32_t host = 0; host < set.hosts; ++host) {
    if (set.after.empty()) {
      sg::Actor::create("a", platform.hosts[host], scheduled_sender, std::cref(set),
                        std::cref(platform.hosts), host, by_source[host], std::ref(exchange));
    } else {
      sg::Actor::create("a", platform.hosts[host], ring_rank, std::cref(set), host,
                        std::ref(exchange));
    }
  }
  const double begin = cpu_seconds();
  double until = 0;
  do {
    until += slice;
    platform.engine->run_until(until);
  } while (cpu_seconds() - begin < limit && platform.engine->get_actor_count() > 0);
  exchange.seconds[0] = cpu_seconds() - begin;
  exchange.mb[0] = memory.mb();
  exchange.reached = sg::Engine::get_clock();
}

// --- Ours ---------------------------------------------------------------------------------------

void run_ours(FlowSet& set, Exchange& exchange) {
  set.capacities.assign(exchange.links, Rate{kLinkRate});
  set.links.clear();
  set.path_begin.assign(1, 0);
  for (std::size_t i = 0; i < set.size(); ++i) {
    set.links.insert(set.links.end(), exchange.path[i], exchange.path[i] + exchange.path_size[i]);
    set.path_begin.push_back(static_cast<std::uint32_t>(set.links.size()));
  }
  const PeakMemory memory;
  const double begin = cpu_seconds();
  FlowSimulator simulator(set.capacities);
  run_set(simulator, set, to_ps(exchange.reached));
  exchange.seconds[1] = cpu_seconds() - begin;
  exchange.mb[1] = memory.mb();
  const std::vector<std::uint32_t> flow_of = by_start(set);
  for (const CompletionChange& change : simulator.take_changes()) {
    exchange.end[1][flow_of[change.flow]] = change.after.seconds();
  }
}

// --- Both ---------------------------------------------------------------------------------------

/// @return whether it went well.
bool in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

/// Largest relative difference of the flows complete in both; how many are in ours.
double difference(const Exchange& exchange, std::size_t& done) {
  double largest = 0;
  for (std::size_t i = 0; i < kMaxFlows; ++i) {
    const double theirs = exchange.end[0][i], ours = exchange.end[1][i];
    done += ours >= 0;
    if (theirs < 0 || ours < 0) continue;
    largest = std::max(largest, std::abs(theirs - ours) / theirs);
  }
  return largest;
}

void compare(benchmark::State& state, const Case& which) {
  void* shared =
      mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return state.SkipWithError("no shared memory");
  auto& exchange = *static_cast<Exchange*>(shared);
  for (auto _ : state) {
    bool fine = in_child([&] { dump_routes(which.make(), exchange); });
    std::fill(&exchange.end[0][0], &exchange.end[0][0] + 2 * kMaxFlows, -1.0);
    fine = fine && in_child([&] { run_simgrid(which.make(), which.slice, exchange); });
    fine = fine && in_child([&] {
             FlowSet set = which.make();
             run_ours(set, exchange);
           });
    if (!fine) {
      state.SkipWithError("a simulation failed");
      break;
    }
    std::size_t done = 0;
    state.counters["difference"] = difference(exchange, done);
    state.counters["flows"] = static_cast<double>(done);
    state.counters["simgrid_per_s"] = static_cast<double>(done) / exchange.seconds[0];
    state.counters["ours_per_s"] = static_cast<double>(done) / exchange.seconds[1];
    state.counters["times_faster"] = exchange.seconds[0] / exchange.seconds[1];
    state.counters["simgrid_MB"] = exchange.mb[0];
    state.counters["ours_MB"] = exchange.mb[1];
    state.counters["share_of_MB"] = exchange.mb[1] / exchange.mb[0];
  }
  munmap(shared, sizeof(Exchange));
}

const bool kRegistered = [] {
  const std::vector<Case> cases = {
      {"ring_1024x64", [] { return ring(1024, 64, 0); }, 1e-5},
      {"ring_1024x64_jittered", [] { return ring(1024, 64, 10'000'000); }, 1e-5},
      {"ring_8192x16", [] { return ring(8192, 16, 0); }, 1e-5},
      {"ring_8192x16_jittered", [] { return ring(8192, 16, 10'000'000); }, 1e-5},
      {"random_1024_load_0.3", [] { return random_pairs(1024, 10'000, 0.3); }, 1e-6},
      {"random_1024_load_0.6", [] { return random_pairs(1024, 10'000, 0.6); }, 1e-6},
      {"random_8192_load_0.3", [] { return random_pairs(8192, 100'000, 0.3); }, 1e-6},
      {"permutation_1024x4", [] { return permutations(1024, 4); }, 1e-8},
      {"all_to_all_128_in_1_ms", [] { return all_to_all(128, 1'000'000'000); }, 1e-6},
  };
  for (const Case& which : cases) {
    benchmark::RegisterBenchmark(("simgrid/" + which.name).c_str(), compare, which)
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  }
  return true;
}();

}  // namespace
}  // namespace flopcast::bench
