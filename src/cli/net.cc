// flopcast net time|run|export: collectives and flows on a described cluster.
#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "base/numeric/clock.h"
#include "base/text/format.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "flopcast/machine.h"
#include "flopcast/report/network.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

CLI::Option* add_cluster(CLI::App& command, std::string& cluster) {
  return command
      .add_option("--on", cluster,
                  "The cluster: \"64 x dgx-h100\", \"8 nodes of dgx-h100, rail NDR\", a name of "
                  "`flopcast hw list`, or a file")
      ->required()
      ->type_name("CLUSTER");
}

// --- net time -----------------------------------------------------------------------------------

struct TimeCommand {
  std::string op, size, cluster, ranks, algorithm = "auto", protocol = "auto", source = "best";
  std::vector<std::string> fits;
  FormatOptions format;
  fs::path html;
};

Diagnostic unknown_word(std::string_view what, const std::string& found,
                        std::string_view expected) {
  return {ErrorCode::kUsage, std::string(what),
          fmt::format("expected {}, found '{}'", expected, found), "see flopcast net time --help"};
}

Result<CollectiveQuery> query_of(const TimeCommand& command) {
  CollectiveQuery query;
  const auto op = parse_collective_op(command.op);
  if (!op) return unknown_word("operation", command.op, "all_reduce, all_gather, ... or barrier");
  query.op = *op;
  if (query.op != CollectiveOp::kBarrier) {
    const Result<Bytes> size = parse_bytes(command.size);
    if (!size) return size.error();
    query.size = *size;
  }
  const Result<std::vector<std::uint32_t>> ranks = parse_ranks(command.ranks);
  if (!ranks) return ranks.error();
  query.ranks = *ranks;
  const auto algorithm = parse_collective_algorithm(command.algorithm);
  if (!algorithm)
    return unknown_word("--algorithm", command.algorithm, "auto, ring, tree, nvls, ...");
  query.algorithm = *algorithm;
  const auto protocol = parse_collective_protocol(command.protocol);
  if (!protocol) return unknown_word("--protocol", command.protocol, "auto, ll, ll128 or simple");
  query.protocol = *protocol;
  const auto source = parse_collective_source(command.source);
  if (!source)
    return unknown_word("--source", command.source, "best, table, fitted, nccl or alpha_beta");
  query.source = *source;
  return query;
}

/// Fits of measurements that the question leaves aside: it names an algorithm, or a source that is none of them.
std::optional<Diagnostic> fits_asked_past(const Cluster& cluster, const CollectiveQuery& query) {
  if (cluster.fits.empty()) return std::nullopt;
  const bool formulas = query.source == CollectiveSource::kNcclConstants ||
                        query.source == CollectiveSource::kAlphaBeta;
  const bool named =
      query.algorithm != CollectiveAlgorithm::kAuto || query.protocol != CollectiveProtocol::kAuto;
  if (!formulas && !named) return std::nullopt;
  return flopcast::usage_error(cluster.fits.front()->path,
                               fmt::format("would not be used: {} asks for a formula",
                                           formulas ? "--source" : "--algorithm or --protocol"),
                               "leave that out, or the fit");
}

Result<CollectiveReport> forecast(const TimeCommand& command) {
  const Result<CollectiveQuery> query = query_of(command);
  if (!query) return query.error();
  std::string line = command.cluster;
  if (auto problem = take_fits(line, command.fits)) return *problem;
  const Result<Cluster> cluster = Catalog::builtin().cluster(line);
  if (!cluster) return cluster.error();
  if (auto problem = fits_asked_past(*cluster, *query)) return *problem;
  const Result<Machine> machine = Machine::make(
      *cluster, Catalog::builtin(), with_uses({FitKind::kNetwork}, "the time of a collective"));
  if (!machine) return machine.error();
  const CollectiveModel& model = machine->transfers();
  CollectiveReport report;
  report.cluster = cluster->name;
  report.own_fits = fit_notes(*cluster);
  report.query = *query;
  report.ranks =
      query->ranks.empty() ? cluster->chips() : static_cast<unsigned>(query->ranks.size());
  Result<CollectiveTime> answer = model.time(*query);
  if (!answer) return answer.error();
  if (!fits_clock(answer->time)) {
    return beyond_clock(
        "--size",
        fmt::format("{} of {} takes {}", command.op, command.size, short_time(answer->time)),
        "name fewer bytes, or look at the bandwidths of --on");
  }
  report.answer = std::move(*answer);
  if (!command.html.empty()) {
    Result<std::vector<CollectiveCurve>> curves = collective_curves(model, *query);
    if (!curves) return curves.error();
    report.curves = std::move(*curves);
  }
  return report;
}

int run_time(Io& io, const TimeCommand& command) {
  const Result<CollectiveReport> report = forecast(command);
  if (!report) return fail(io, report.error());
  const int code =
      command.html.empty() ? kDone : write_page(io, command.html, collective_html(*report));
  if (code != kDone) return code;
  return print(io, command.format.json ? collective_json(*report) : collective_text(*report),
               command.format);
}

void add_net_time(CLI::App& net, Action& action) {
  CLI::App* sub = net.add_subcommand(
      "time", "How long a collective takes when it has the network to itself, and why");
  const auto command = std::make_shared<TimeCommand>();
  sub->add_option("OP", command->op,
                  "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, "
                  "send_recv or barrier")
      ->required()
      ->type_name("");
  sub->add_option("--size", command->size,
                  "Bytes as nccl-tests count them (the buffer; all_gather: the whole output; "
                  "reduce_scatter: the whole input; all_to_all: what one rank sends)")
      ->type_name("SIZE");
  add_cluster(*sub, command->cluster);
  add_fits(*sub, command->fits);
  sub->add_option("--ranks", command->ranks, "Only these chips, such as 0-7,16")->type_name("LIST");
  sub->add_option("--algorithm", command->algorithm,
                  "ring, tree, halving_doubling, direct, bruck, hierarchical, torus, nvls, "
                  "nvls_tree, pat or dual_network, instead of what NCCL would choose")
      ->type_name("NAME");
  sub->add_option("--protocol", command->protocol, "ll, ll128 or simple")->type_name("NAME");
  sub->add_option("--source", command->source,
                  "What to rest on: best (default), table, fitted, nccl or alpha_beta")
      ->type_name("NAME");
  add_format(*sub, command->format, false);
  add_page(*sub, command->html);
  set_example(*sub, "flopcast net time all_reduce --size 1GB --on \"64 x dgx-h100\"");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_time(io, *command); }; });
}

// --- net run ------------------------------------------------------------------------------------

struct RunCommand {
  fs::path flows;
  std::string cluster;
  bool ecmp = false;
  FormatOptions format;
  fs::path html;
};

Result<TrafficReport> simulate_flows(const RunCommand& command) {
  const Result<Cluster> cluster = Catalog::builtin().cluster(command.cluster);
  if (!cluster) return cluster.error();
  if (auto unused = unused_fit(*cluster, {}, "a simulation of flows")) return *unused;
  RoutingOptions routing;
  if (command.ecmp) routing.balancing = Balancing::kEcmp;
  const Result<Topology> topology = Topology::build(*cluster, routing);
  if (!topology) return topology.error();
  Result<std::vector<TrafficRow>> traffic = read_traffic(command.flows);
  if (!traffic) return traffic.error();
  Result<TrafficResult> result = run_traffic(*cluster, *topology, *traffic);
  if (!result) return result.error();
  return make_traffic_report(*cluster, *topology, std::move(*traffic), std::move(*result));
}

int run_run(Io& io, const RunCommand& command) {
  const Result<TrafficReport> report = simulate_flows(command);
  if (!report) return fail(io, report.error());
  const int code =
      command.html.empty() ? kDone : write_page(io, command.html, traffic_html(*report));
  if (code != kDone) return code;
  return print(io,
               command.format.json  ? traffic_json(*report)
               : command.format.csv ? traffic_csv(*report)
                                    : traffic_text(*report),
               command.format);
}

void add_net_run(CLI::App& net, Action& action) {
  CLI::App* sub =
      net.add_subcommand("run", "Simulate a file of flows and collectives that share a network");
  const auto command = std::make_shared<RunCommand>();
  sub->add_option("FLOWS.csv", command->flows,
                  "CSV with columns src,dst,bytes or op,ranks,bytes, and as wanted id, start, "
                  "delay, after, group, limit")
      ->required()
      ->type_name("");
  add_cluster(*sub, command->cluster);
  sub->add_flag("--ecmp", command->ecmp,
                "Hash flows over equal paths instead of routing by destination");
  add_format(*sub, command->format, true);
  add_page(*sub, command->html);
  set_example(*sub, "flopcast net run examples/flows.csv --on \"2 x dgx-h100\"");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_run(io, *command); }; });
}

// --- net export ---------------------------------------------------------------------------------

struct ExportCommand {
  std::string cluster;
  fs::path out;
};

int run_export(Io& io, const ExportCommand& command) {
  const Result<Cluster> cluster = Catalog::builtin().cluster(command.cluster);
  if (!cluster) return fail(io, cluster.error());
  if (const auto unused = unused_fit(*cluster, {}, "a SimGrid platform")) return fail(io, *unused);
  const Result<Topology> topology = Topology::build(*cluster);
  if (!topology) return fail(io, topology.error());
  std::ostringstream xml;
  write_simgrid_platform(*topology, xml);
  if (command.out.empty()) return print(io, xml.str());
  return write_file(io, command.out, xml.str());
}

void add_net_export(CLI::App& net, Action& action) {
  CLI::App* sub = net.add_subcommand(
      "export", "Write a cluster as a SimGrid platform: hosts, links, our routes");
  const auto command = std::make_shared<ExportCommand>();
  add_cluster(*sub, command->cluster);
  as_output(sub->add_option("--out", command->out, "File to write; standard output if not given")
                ->type_name("FILE"));
  set_example(*sub, "flopcast net export --on \"2 x dgx-h100\"");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_export(io, *command); }; });
}

}  // namespace

void add_net(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("net", "Collectives and flows on a described cluster");
  sub->require_subcommand(1);
  add_net_time(*sub, action);
  add_net_run(*sub, action);
  add_net_export(*sub, action);
  set_example(*sub, "flopcast net time all_reduce --size 1GB --on \"64 x dgx-h100\"");
}

}  // namespace flopcast::cli
