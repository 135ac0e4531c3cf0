// Collectives and flows on described clusters.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "errors.h"
#include "flopcast/report/network.h"
#include "forecasts.h"

namespace flopcast {
namespace {

struct SharedCluster {
  Cluster cluster;
  CollectiveModel model;
};

SharedCluster* open_cluster(const std::string& text) {
  Cluster cluster = value_or_raise(Catalog::builtin().cluster(text));
  CollectiveModel model = value_or_raise(CollectiveModel::make(cluster, Catalog::builtin()));
  return new SharedCluster{std::move(cluster), std::move(model)};
}

template <typename T>
T known(std::optional<T> value, const char* what, const std::string& given) {
  if (!value) {
    raise(
        {ErrorCode::kUsage, what, "unknown name '" + given + "'", "see flopcast net time --help"});
  }
  return *value;
}

nb::object collective_time(const SharedCluster& self, const std::string& op, double bytes,
                           const std::vector<std::uint32_t>& ranks, const std::string& algorithm,
                           const std::string& protocol, const std::string& source) {
  CollectiveReport report;
  report.cluster = self.cluster.name;
  report.query.op = known(parse_collective_op(op), "op", op);
  report.query.size = Bytes{bytes};
  report.query.ranks = ranks;
  report.query.algorithm = known(parse_collective_algorithm(algorithm), "algorithm", algorithm);
  report.query.protocol = known(parse_collective_protocol(protocol), "protocol", protocol);
  report.query.source = known(parse_collective_source(source), "source", source);
  report.ranks = ranks.empty() ? self.cluster.chips() : static_cast<unsigned>(ranks.size());
  report.answer = value_or_raise(self.model.time(report.query));
  return text(collective_json(report));
}

nb::object run_flows(const SharedCluster& self, const std::string& csv, bool ecmp) {
  const auto run = [&]() -> Result<TrafficReport> {
    const nb::gil_scoped_release other_python_threads_go_on;
    RoutingOptions routing;
    if (ecmp) routing.balancing = Balancing::kEcmp;
    const Result<Topology> topology = Topology::build(self.cluster, routing);
    if (!topology) return topology.error();
    Result<std::vector<TrafficRow>> traffic = parse_traffic(csv, "flows");
    if (!traffic) return traffic.error();
    Result<TrafficResult> result = run_traffic(self.cluster, *topology, *traffic);
    if (!result) return result.error();
    return make_traffic_report(self.cluster, *topology, std::move(*traffic), std::move(*result));
  };
  return text(traffic_json(value_or_raise(run())));
}

double bytes_of(const std::string& size) { return value_or_raise(parse_bytes(size)).value; }

}  // namespace

void define_network(nb::module_& module) {
  nb::class_<SharedCluster>(module, "Cluster")
      .def(nb::new_(&open_cluster))
      .def("name", [](const SharedCluster& s) { return text(s.cluster.name); })
      .def("chip", [](const SharedCluster& s) { return text(s.cluster.chip.name); })
      .def("chips", [](const SharedCluster& s) { return s.cluster.chips(); })
      .def("nodes", [](const SharedCluster& s) { return s.cluster.nodes(); })
      .def("collective_time", &collective_time)
      .def("run_flows", &run_flows);
  module.def("bytes_of", &bytes_of);
}

}  // namespace flopcast
