// The processes that a run starts on one machine: all of them, or the share of one of several.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/live.h"
#include "live/engine/session/folding.h"
#include "live/start/launch/launcher.h"
#include "live/start/launch/outputs.h"
#include "live/start/launch/remarks.h"

namespace flopcast::live {

/// How ranks lie on the nodes that the machines pose as.
struct Layout {
  std::uint32_t ranks = 0, nodes = 0;
  std::uint32_t of_node() const { return ranks / nodes; }
};
/// Errors: more ranks than chips, ranks that do not fill the nodes, nodes that do not spread over the machines evenly.
Result<Layout> layout_of(const LiveRequest& request, const Cluster& cluster);
/// Devices of a node, as programs see it: those of the cluster's where nothing else is asked for.
std::uint32_t devices_of_node(const LiveRequest& request, const Cluster& cluster,
                              const Layout& layout);

/// How processes of several machines find each other.
struct Neighbourhood {
  std::string master = "127.0.0.1";  ///< address of the first machine
  std::uint16_t port = 0;            ///< of the program's own store there
  std::string interface = "lo";      ///< of this machine, that the others come by
};

class HostProcesses {
 public:
  /// @param ranks those that are there, of all machines
  HostProcesses(const LiveRequest& request, Layout layout, const Folding& folding,
                const std::vector<std::int32_t>& ranks);

  /// @param socket name of the engine's, or of who is there in its place
  std::optional<Diagnostic> start(const std::string& socket, const Neighbourhood& neighbours,
                                  const std::function<bool()>& stop);
  /// How many are started here.
  std::size_t count() const { return launches_ ? nodes_ : ranks_.size(); }
  /// Of one, in the order in which they are started; -1: it is a launcher.
  std::int32_t rank_of(std::size_t process) const { return launches_ ? -1 : ranks_[process]; }
  /// Of a rank that is started here; 0: it is not.
  pid_t pid_of_rank(std::int32_t rank) const;

  std::vector<Ending> ended() { return launcher_ ? launcher_->ended() : std::vector<Ending>(); }
  std::size_t running() const { return launcher_ ? launcher_->running() : 0; }
  void end_all() {
    if (launcher_) launcher_->end_all();
  }
  Outputs& outputs() { return *outputs_; }
  const Remarks& remarks() const { return remarks_; }

 private:
  Result<std::map<std::string, std::string>> environment(const std::string& socket,
                                                         const Neighbourhood& neighbours) const;
  std::optional<Diagnostic> start_ranks(std::map<std::string, std::string> common,
                                        const Neighbourhood& neighbours,
                                        const std::function<bool()>& stop);
  std::optional<Diagnostic> start_launchers(const std::map<std::string, std::string>& common,
                                            const Neighbourhood& neighbours);
  Command command_of(std::size_t process, std::map<std::string, std::string> environment) const;

  const LiveRequest& request_;
  Layout layout_;
  const Folding& folding_;
  bool launches_;
  std::uint32_t first_node_ = 0, nodes_ = 0;  ///< that are here
  std::vector<std::int32_t> ranks_;           ///< that are there and here
  Remarks remarks_;
  Descriptor nowhere_;  ///< where a rank writes that is alone
  std::unique_ptr<Outputs> outputs_;
  std::optional<Launcher> launcher_;  ///< ends its processes before the others go
};

}  // namespace flopcast::live
