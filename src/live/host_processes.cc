#include "live/host_processes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "live/engine/pricing/operator_table.h"
#include "live/wire/named_arguments.h"
#include "live/wire/ranks.h"
#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

namespace fs = std::filesystem;

/// Loaded before all others: the core, then what needs the libraries that stand in.
constexpr const char* kPreloaded[] = {"libflopcast_live.so", "libflopcast_preload.so"};

/// The value of a list of paths, ours before the caller's own.
std::string before_own(std::string ours, const char* variable) {
  const char* own = std::getenv(variable);
  return own && *own ? std::move(ours) + ":" + own : ours;
}

}  // namespace

Result<Layout> layout_of(const LiveRequest& request, const Cluster& cluster) {
  const auto chips = static_cast<std::uint32_t>(cluster.chips());
  Layout layout{request.ranks > 0 ? request.ranks : chips, request.nodes};
  if (layout.ranks > chips) {
    return usage_error(
        "--ranks", fmt::format("are {}, and {} has {} chips", layout.ranks, request.cluster, chips),
        "name a larger cluster");
  }
  if (layout.nodes == 0) {
    const auto of_node =
        std::min(static_cast<std::uint32_t>(cluster.chips_per_node()), layout.ranks);
    const bool whole = layout.ranks % of_node == 0;
    layout.nodes = request.launches || !whole ? request.machines.count : layout.ranks / of_node;
  }
  if (layout.ranks % layout.nodes != 0) {
    return usage_error(
        "--nodes-as",
        fmt::format("{} ranks do not fill {} nodes evenly", layout.ranks, layout.nodes),
        "name a number of nodes that divides them");
  }
  if (layout.nodes % request.machines.count != 0) {
    return usage_error(
        "--hosts",
        fmt::format("{} machines, and the ranks are of {} node{}: a node is on one machine",
                    request.machines.count, layout.nodes, layout.nodes == 1 ? "" : "s"),
        "--nodes-as N spreads the ranks over N nodes");
  }
  return layout;
}

std::uint32_t devices_of_node(const LiveRequest& request, const Cluster& cluster,
                              const Layout& layout) {
  const bool as_cluster = request.nodes == 0 && !request.launches;
  return as_cluster ? cluster.chips_per_node() : std::max(layout.of_node(), 1U);
}

HostProcesses::HostProcesses(const LiveRequest& request, Layout layout, const Folding& folding,
                             const std::vector<std::int32_t>& ranks)
    : request_(request), layout_(layout), folding_(folding), launches_(request.launches) {
  nodes_ = layout.nodes / request.machines.count;
  first_node_ = nodes_ * request.machines.own;
  // Ranks fill the nodes one after the other.
  const auto of_node = static_cast<std::int32_t>(layout.of_node());
  const auto begin = static_cast<std::int32_t>(first_node_) * of_node;
  const auto end = begin + static_cast<std::int32_t>(nodes_) * of_node;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(ranks_),
               [=](std::int32_t rank) { return begin <= rank && rank < end; });
}

pid_t HostProcesses::pid_of_rank(std::int32_t rank) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  if (launches_ || found == ranks_.end()) return 0;
  return launcher_->pid_of(static_cast<std::size_t>(found - ranks_.begin()));
}

Result<std::map<std::string, std::string>> HostProcesses::environment(
    const std::string& socket, const Neighbourhood& neighbours) const {
  const fs::path folder = fs::absolute(request_.libraries);
  std::string preload;
  for (const char* name : kPreloaded) {
    const fs::path library = folder / name;
    std::error_code ignored;
    if (!fs::exists(library, ignored)) {
      return Diagnostic{ErrorCode::kBadInput, library.string(), "is not there",
                        "build the stand-in libraries: ./dev build"};
    }
    preload += (preload.empty() ? "" : ":") + library.string();
  }
  std::map<std::string, std::string> all = request_.environment;
  if (!request_.torch_plugin.empty()) all["FLOPCAST_LIVE_TORCH"] = request_.torch_plugin.string();
  const Result<OperatorTable> operators = OperatorTable::make(request_.operators);
  // A machine of several may not have the user's file.
  all[kArgumentsVariable] = (operators ? *operators : OperatorTable::builtin()).wanted_arguments();
  all[kSocketVariable] = socket;
  all["LD_PRELOAD"] = before_own(preload, "LD_PRELOAD");
  all["LD_LIBRARY_PATH"] = before_own(folder.string(), "LD_LIBRARY_PATH");
  all["PATH"] = before_own((folder / "bin").string(), "PATH");  // nvidia-smi
  all["LIBRARY_PATH"] =
      before_own(folder.string(), "LIBRARY_PATH");  // what engines compile is linked with cudart
  // CUTLASS's DSL brings a runtime of NVIDIA's inside a library of its package, unless it is told of another one.
  if (!std::getenv("CUTE_DSL_LIBS"))
    all["CUTE_DSL_LIBS"] = (folder / "libcute_dsl_runtime.so").string();
  if (remarks_.is_open()) all[Remarks::kVariable] = remarks_.path();
  // One core has to do for many ranks; nobody but the machines of the run is to be found; and kernels of Triton are kept once (below), not
  // in PyTorch's compiled graphs as well, from which PyTorch 2.6 puts them into one folder rank against rank.
  for (const auto& [name, value] : {std::pair("OMP_NUM_THREADS", "1"),
                                    {"GLOO_SOCKET_IFNAME", neighbours.interface.c_str()},
                                    {"TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE", "0"}}) {
    if (!std::getenv(name) && *value != '\0') all.try_emplace(name, value);
  }
  // PyTorch's compiler gives each device a folder of its own for what Triton makes, which here is the same for all of them.
  constexpr const char* kTriton = "TRITON_CACHE_DIR";
  if (!request_.torch_plugin.empty() && !std::getenv(kTriton))
    all.try_emplace(kTriton, (request_.torch_plugin.parent_path() / "triton").string());
  if (folding_.folds()) {
    all[kFoldVariable] = text_of(folding_);
    // The first rank of a communicator names it, whatever its size: others need not be there.
    all["TORCH_NCCL_RANKS_PER_ROOT"] = std::to_string(kMostRanks);
  }
  return all;
}

std::optional<Diagnostic> HostProcesses::start(const std::string& socket,
                                               const Neighbourhood& neighbours,
                                               const std::function<bool()>& stop) {
  launcher_.emplace(fmt::format("{}={}", kSocketVariable, socket));
  if (folding_.alone) nowhere_ = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int heard = nowhere_ ? nowhere_.get() : -1;
  Result<std::unique_ptr<Outputs>> outputs =
      Outputs::make(count(), {heard < 0 ? 1 : heard, heard < 0 ? 2 : heard});
  if (!outputs) return outputs.error();
  outputs_ = std::move(*outputs);
  const Result<std::map<std::string, std::string>> common = environment(socket, neighbours);
  if (!common) return common.error();
  const auto problem =
      launches_ ? start_launchers(*common, neighbours) : start_ranks(*common, neighbours, stop);
  outputs_->all_started();
  return problem;
}

Command HostProcesses::command_of(std::size_t process,
                                  std::map<std::string, std::string> environment) const {
  Command command;
  command.words = request_.command;
  command.environment = std::move(environment);
  for (const int stream : {0, 1}) command.output[stream] = outputs_->end_of(process, stream);
  return command;
}

std::optional<Diagnostic> HostProcesses::start_launchers(
    const std::map<std::string, std::string>& common, const Neighbourhood& neighbours) {
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    auto environment = launcher_environment(first_node_ + i, layout_.nodes, layout_.of_node(),
                                            neighbours.master, neighbours.port);
    environment.insert(common.begin(), common.end());
    if (auto problem = launcher_->start(command_of(i, std::move(environment)))) return problem;
  }
  return std::nullopt;
}

std::optional<Diagnostic> HostProcesses::start_ranks(std::map<std::string, std::string> common,
                                                     const Neighbourhood& neighbours,
                                                     const std::function<bool()>& stop) {
  std::vector<ForkedRank> forked;
  const bool forks = !request_.fork_server.empty();
  for (std::size_t process = 0; process < ranks_.size(); ++process) {
    auto environment = rank_environment(static_cast<std::uint32_t>(ranks_[process]), layout_.ranks,
                                        layout_.of_node(), neighbours.master, neighbours.port);
    if (!forks) environment.insert(common.begin(), common.end());
    Command command = command_of(process, std::move(environment));
    if (forks) {
      forked.push_back({command.environment, {command.output[0], command.output[1]}});
    } else if (auto problem = launcher_->start(command)) {
      return problem;
    }
  }
  if (forks) {
    Command server = command_of(0, std::move(common));
    server.words = {request_.command.front(), fs::absolute(request_.fork_server).string()};
    const ForkedProgram program{request_.command[1],
                                {request_.command.begin() + 2, request_.command.end()},
                                request_.imports};
    return launcher_->serve(server, program, forked, stop);
  }
  return std::nullopt;
}

}  // namespace flopcast::live
