// Collectives and flows on described clusters.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "errors.h"
#include "flopcast/machine.h"
#include "flopcast/report/network.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

constexpr const char* kNetHelp = "flopcast net time --help";

struct SharedCluster {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Machine> machine;
};

SharedCluster* open_cluster(const std::string& text) {
  Cluster cluster = value_or_raise(
      interruptible([text](const Stop&) { return Catalog::builtin().cluster(text); }));
  Machine machine = value_or_raise(Machine::make(
      cluster, Catalog::builtin(), with_uses({FitKind::kNetwork}, "the time of a collective")));
  return new SharedCluster{std::make_shared<const Cluster>(std::move(cluster)),
                           std::make_shared<const Machine>(std::move(machine))};
}

nb::str collective_time(const SharedCluster& self, const std::string& op, double bytes,
                        const std::vector<std::uint32_t>& ranks, const std::string& algorithm,
                        const std::string& protocol, const std::string& source) {
  CollectiveReport report;
  report.cluster = self.cluster->name;
  report.own_fits = fit_notes(*self.cluster);
  CollectiveQuery& query = report.query;
  query.op = known(parse_collective_op(op), "op", op, kNetHelp);
  query.size = Bytes{bytes};
  query.ranks = ranks;
  query.algorithm = known(parse_collective_algorithm(algorithm), "algorithm", algorithm, kNetHelp);
  query.protocol = known(parse_collective_protocol(protocol), "protocol", protocol, kNetHelp);
  query.source = known(parse_collective_source(source), "source", source, kNetHelp);
  report.ranks = ranks.empty() ? self.cluster->chips() : static_cast<unsigned>(ranks.size());
  report.answer = value_or_raise(interruptible(
      [machine = self.machine, query](const Stop&) { return machine->transfers().time(query); }));
  return text(collective_json(report));
}

Result<TrafficReport> flows_on(const Cluster& cluster, const std::string& csv, bool ecmp) {
  if (auto unused = unused_fit(cluster, {}, "a simulation of flows")) return *unused;
  RoutingOptions routing;
  if (ecmp) routing.balancing = Balancing::kEcmp;
  const Result<Topology> topology = Topology::build(cluster, routing);
  if (!topology) return topology.error();
  Result<std::vector<TrafficRow>> traffic = parse_traffic(csv, "flows");
  if (!traffic) return traffic.error();
  Result<TrafficResult> result = run_traffic(cluster, *topology, *traffic);
  if (!result) return result.error();
  return make_traffic_report(cluster, *topology, std::move(*traffic), std::move(*result));
}

nb::str run_flows(const SharedCluster& self, const std::string& csv, bool ecmp) {
  return text(
      traffic_json(value_or_raise(interruptible([cluster = self.cluster, csv, ecmp](const Stop&) {
        return flows_on(*cluster, csv, ecmp);
      }))));
}

double bytes_of(const std::string& size) { return value_or_raise(parse_bytes(size)).value; }

}  // namespace

void define_network(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedCluster>(module, "Cluster")
      .def(nb::new_(&open_cluster), "description"_a)
      .def("name", [](const SharedCluster& s) { return text(s.cluster->name); })
      .def("chip", [](const SharedCluster& s) { return text(s.cluster->chip.name); })
      .def("chips", [](const SharedCluster& s) { return s.cluster->chips(); })
      .def("nodes", [](const SharedCluster& s) { return s.cluster->nodes(); })
      .def("collective_time", &collective_time, "op"_a, "size"_a, nb::kw_only(), "ranks"_a,
           "algorithm"_a, "protocol"_a, "source"_a, "The JSON of `flopcast net time`.")
      .def("run_flows", &run_flows, "csv"_a, nb::kw_only(), "ecmp"_a,
           "The JSON of `flopcast net run`.");
  module.def(
      "with_fits",
      [](const std::string& line, const std::vector<std::string>& fits) {
        return value_or_raise(with_fits(line, fits));
      },
      "line"_a, "fits"_a);
  module.def("bytes_of", &bytes_of, "size"_a);
}

}  // namespace flopcast
