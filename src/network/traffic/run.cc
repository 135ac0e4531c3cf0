// Runs traffic on the flow simulator and tells what each link carried when.
#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/clock.h"
#include "base/text/format.h"
#include "flopcast/network/traffic.h"

namespace flopcast {
namespace {

class TrafficRun {
 public:
  TrafficRun(const Cluster& cluster, const Topology& topology,
             const std::vector<TrafficRow>& traffic)
      : cluster_(cluster),
        topology_(topology),
        traffic_(traffic),
        simulator_(topology, FlowSimulator::Options{}) {}

  Result<TrafficResult> run(unsigned intervals) {
    for (const TrafficRow& row : traffic_) {
      if (auto problem = submit(row)) return *problem;
    }
    simulator_.advance();
    list_rows();
    if (!fits_clock(result_.end)) return too_long();
    list_links(intervals);
    return std::move(result_);
  }

 private:
  std::optional<Diagnostic> submit(const TrafficRow& row) {
    std::vector<FlowId> after;
    for (const std::uint32_t earlier : row.after) {
      after.insert(after.end(), flows_[earlier].last.begin(), flows_[earlier].last.end());
    }
    Result<CollectiveFlows> flows = row.op ? submit_group(row, after) : submit_pair(row, after);
    if (!flows) {
      Diagnostic error = flows.error();
      error.where = row.place;
      return error;
    }
    flows_.push_back(std::move(*flows));
    return std::nullopt;
  }

  Result<CollectiveFlows> submit_pair(const TrafficRow& row, const std::vector<FlowId>& after) {
    const std::uint32_t chips = topology_.endpoints();
    if (row.src >= chips || row.dst >= chips) {
      return Diagnostic{
          ErrorCode::kBadInput, row.place,
          fmt::format("expected chips below {}, found {} to {}", chips, row.src, row.dst),
          "chips count from 0, node by node"};
    }
    path_.clear();
    topology_.route(row.src, row.dst, flows_.size(), path_);
    uses_.clear();
    for (const LinkId link : path_) uses_.push_back({link, 1});
    FlowSpec spec;
    spec.path = uses_;
    spec.bytes = row.bytes;
    spec.latency = topology_.latency(path_);
    spec.limit = row.limit;
    spec.group = row.group;
    spec.after = after;
    spec.delay = row.delay;
    const Result<FlowId> flow = simulator_.submit(spec, row.start);
    if (!flow) return flow.error();
    return CollectiveFlows{{*flow}, {*flow}};
  }

  Result<CollectiveFlows> submit_group(const TrafficRow& row, const std::vector<FlowId>& after) {
    CollectiveQuery query;
    query.op = *row.op;
    query.size = Bytes{static_cast<double>(row.bytes)};
    query.ranks = row.ranks;
    return submit_collective(simulator_, topology_, cluster_, query, Expansion::kMacroFlow,
                             row.start + row.delay, after);
  }

  void list_rows() {
    for (const CollectiveFlows& flows : flows_) {
      TrafficResult::Row row{Time::max(), Time{}};
      for (const FlowId flow : flows.flows) {
        const FlowStatus status = simulator_.query(flow);
        row.start = std::min(row.start, status.start);
        row.end = std::max(row.end, status.end);
      }
      result_.end = std::max(result_.end, row.end);
      result_.rows.push_back(row);
    }
  }

  /// The first row that has no end.
  Diagnostic too_long() const {
    std::size_t row = 0;
    while (fits_clock(result_.rows[row].end)) ++row;
    return beyond_clock(traffic_[row].place,
                        fmt::format("{} are moved", short_bytes(traffic_[row].bytes)),
                        "name fewer bytes, or look at the bandwidths of --on");
  }

  struct Use {
    LinkId link;
    std::uint32_t weight;
    FlowId flow;
  };

  void list_links(unsigned intervals) {
    for (const CollectiveFlows& flows : flows_) {
      for (const FlowId flow : flows.flows) {
        for (const LinkUse& use : simulator_.path(flow))
          users_.push_back({use.link, use.weight, flow});
      }
    }
    intervals = std::max(intervals, 1u);
    result_.interval =
        Time{std::max<std::int64_t>(1, (result_.end.ps + intervals - 1) / intervals)};
    std::stable_sort(users_.begin(), users_.end(),
                     [](const Use& a, const Use& b) { return a.link < b.link; });
    for (std::size_t i = 0; i < users_.size();) {
      std::size_t end = i;
      while (end < users_.size() && users_[end].link == users_[i].link) ++end;
      add_link(i, end, intervals);
      i = end;
    }
    std::stable_sort(result_.links.begin(), result_.links.end(),
                     [](const auto& a, const auto& b) { return a.mean > b.mean; });
  }

  void add_link(std::size_t first, std::size_t last, unsigned intervals) {
    TrafficResult::LinkUse use;
    use.link = users_[first].link;
    std::vector<double> carried(intervals, 0.0);
    for (std::size_t i = first; i < last; ++i) add_flow(users_[i], carried, use.carried);
    const BytesPerSecond capacity = topology_.links()[use.link].capacity.bytes_per_second();
    const Bytes room = capacity * Seconds{result_.interval.seconds()};
    for (const double bytes : carried) use.used.push_back(static_cast<float>(bytes / room.value));
    if (result_.end > Time{}) use.mean = use.carried / (capacity * Seconds{result_.end.seconds()});
    if (use.carried.value > 0) result_.links.push_back(std::move(use));
  }

  /// What a flow put on a link in each interval, from its sent bytes at the interval's ends.
  void add_flow(const Use& user, std::vector<double>& carried, Bytes& total) {
    const FlowStatus whole = simulator_.query(user.flow);
    total += whole.sent * user.weight;
    const std::int64_t step = result_.interval.ps;
    const auto first = static_cast<std::size_t>(whole.start.ps / step);
    double before = 0;
    for (std::size_t i = first; i < carried.size(); ++i) {
      const Time at{std::min((static_cast<std::int64_t>(i) + 1) * step, simulator_.now().ps)};
      const double sent = simulator_.query(user.flow, at).sent.value;
      carried[i] += (sent - before) * user.weight;
      before = sent;
      if (at >= whole.end) break;
    }
  }

  const Cluster& cluster_;
  const Topology& topology_;
  const std::vector<TrafficRow>& traffic_;
  FlowSimulator simulator_;
  std::vector<CollectiveFlows> flows_;  // per row
  std::vector<Use> users_;
  std::vector<LinkId> path_;
  std::vector<LinkUse> uses_;
  TrafficResult result_;
};

}  // namespace

Result<TrafficResult> run_traffic(const Cluster& cluster, const Topology& topology,
                                  const std::vector<TrafficRow>& traffic, unsigned intervals) {
  return TrafficRun(cluster, topology, traffic).run(intervals);
}

}  // namespace flopcast
