// flopcast map: the fastest mapping of a dataflow graph onto a system, and its proof.
#include <fmt/format.h>

#include <memory>

#include "cli/mapping/map_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "flopcast/hardware/templates.h"
#include "flopcast/report/mapping.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct MapCommand {
  MapFlags flags;
  FormatOptions format;
  fs::path html, svg, mps, toml;
};

/// Without --on: the graph alone.
int draw_graph(Io& io, const MapCommand& command) {
  const Result<MappingQuestion> question = mapping_question(command.flags);
  if (!question) return fail(io, question.error());
  const Result<DataflowWorkload> workload = load_dataflow(question->workload, question->dataflow);
  if (!workload) return fail(io, workload.error());
  if (!command.svg.empty()) {
    const int code = write_told(io, "drawing", command.svg, dataflow_svg(workload->graph));
    if (code != kDone) return code;
  }
  if (command.toml.empty()) return kDone;
  return write_told(io, "graph", command.toml, dataflow_toml(*workload));
}

int write_mps(Io& io, const MapCommand& command, const MappingReport& report) {
  // As many partitions as either pass of the optimum has, unless told otherwise.
  std::size_t backward = 0;
  for (const MappedPartition& p : report.mapping.partitions) backward += p.backward;
  const std::size_t forward = report.mapping.partitions.size() - backward;
  const unsigned asked = report.request.search.partitions;
  const unsigned partitions =
      asked > 0 ? asked : static_cast<unsigned>(std::max(forward, backward));
  const Result<std::string> mps = mapping_mps(report.request, report.mapping, partitions);
  if (!mps) return fail(io, mps.error());
  return write_told(io, "program", command.mps, *mps);
}

int write_files(Io& io, const MapCommand& command, const MappingReport& report) {
  const DataflowWorkload& workload = report.request.workload;
  int code = kDone;
  if (!command.toml.empty()) code = write_told(io, "graph", command.toml, dataflow_toml(workload));
  if (code == kDone && !command.svg.empty()) {
    code = write_told(io, "drawing", command.svg,
                      dataflow_svg(workload.graph, kernel_partitions(report)));
  }
  if (code == kDone && !command.html.empty()) {
    code = write_page(io, command.html, mapping_html(report));
  }
  if (code == kDone && !command.mps.empty()) code = write_mps(io, command, report);
  return code;
}

int run_map(Io& io, const MapCommand& command) {
  const bool draws = !command.svg.empty() || !command.toml.empty();
  if (command.flags.question.on.empty() && command.flags.dfmodel.empty() && draws) {
    return draw_graph(io, command);
  }
  Result<MappingRequest> request = mapping_request(command.flags);
  if (!request) return fail(io, request.error());
  Result<Mapping> mapping = map_workload(*request);
  if (!mapping) return fail(io, mapping.error());
  const MappingReport report{std::move(*request), std::move(*mapping)};
  if (const int code = write_files(io, command, report); code != kDone) return code;
  return print(io,
               command.format.json  ? mapping_json(report)
               : command.format.csv ? mapping_csv(report)
                                    : mapping_text(report),
               command.format);
}

/// map template KIND.
void add_map_template(CLI::App& map, Action& action) {
  CLI::App* sub = map.add_subcommand("template", "A file to fill in, with units and comments");
  const auto kind = std::make_shared<std::string>();
  sub->add_option("KIND", *kind, "graph: a WORKLOAD; system: what --on takes")
      ->required()
      ->type_name("");
  set_example(*sub, "flopcast map template graph");
  sub->callback([kind, &action] {
    action = [kind](Io& io) {
      const Result<std::string> text = template_text(*kind, mapping_templates());
      return text ? print(io, *text) : fail(io, text.error());
    };
  });
}

}  // namespace

void add_map(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "map", "The fastest mapping of a dataflow graph onto a system, with a proof");
  const auto command = std::make_shared<MapCommand>();
  add_mapping(*sub, command->flags);
  sub->add_option("--dfmodel", command->flags.dfmodel,
                  "A setup.txt of DFModel instead of WORKLOAD and system, with its assumptions")
      ->type_name("FILE");
  add_format(*sub, command->format, true);
  add_page(*sub, command->html);
  const auto add_file = [&](const std::string& flag, fs::path& path, const std::string& help) {
    as_output(sub->add_option(flag, path, help)->type_name("FILE"));
  };
  add_file("--svg", command->svg, "Draw the graph; without --on only that");
  add_file("--mps", command->mps,
           "Write the fusion into partitions as a mixed-integer program (free MPS)");
  add_file("--toml", command->toml, "Write the graph; without --on only that");
  set_example(*sub, "flopcast map gpt3-175b --on \"8 x sn10\" --topology torus:4x2");
  add_map_template(*sub, action);
  sub->callback([command, sub, &action] {
    if (!sub->get_subcommands().empty()) return;
    action = [command](Io& io) { return run_map(io, *command); };
  });
}

}  // namespace flopcast::cli
