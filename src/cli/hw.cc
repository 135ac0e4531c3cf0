// flopcast hw list|show: the chips, memories, links, nodes and clusters that are known, every number
// with its unit and source.
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/hardware/templates.h"
#include "flopcast/report/hardware.h"

namespace flopcast::cli {
namespace {

struct HwCommand {
  std::string what;
  FormatOptions format;
};

int run_list(Io& io, const HwCommand& command) {
  const Catalog& catalog = Catalog::builtin();
  return print(io,
               command.format.json ? catalog_json(catalog, command.what)
                                   : catalog_text(catalog, command.what),
               command.format);
}

/// Whatever has this name; else a cluster, whose error is the answer.
Result<HardwareEntry> find_entry(const Catalog& catalog, const std::string& what) {
  if (Result<Chip> chip = catalog.chip(what)) return HardwareEntry(std::move(*chip));
  if (Result<Link> link = catalog.link(what)) return HardwareEntry(std::move(*link));
  if (auto memory = catalog.memory(what)) return HardwareEntry(std::move(*memory));
  if (auto interconnect = catalog.interconnect(what))
    return HardwareEntry(std::move(*interconnect));
  Result<Cluster> cluster = catalog.cluster(what);
  if (!cluster) return cluster.error();
  return HardwareEntry(std::move(*cluster));
}

int run_show(Io& io, const HwCommand& command) {
  const Result<HardwareEntry> entry = find_entry(Catalog::builtin(), command.what);
  if (!entry) return fail(io, entry.error());
  return print(io, command.format.json ? hardware_json(*entry) : hardware_text(*entry),
               command.format);
}

int run_template(Io& io, const std::string& kind) {
  const Result<std::string> text = template_text(kind, hardware_templates());
  return text ? print(io, *text) : fail(io, text.error());
}

}  // namespace

void add_hw(CLI::App& app, Action& action) {
  CLI::App* hw =
      app.add_subcommand("hw", "Known chips, memories, links, nodes and clusters, with sources");
  hw->require_subcommand(1);
  set_example(*hw, "flopcast hw show h100");

  CLI::App* list = hw->add_subcommand("list", "Everything the catalogue knows by name");
  const auto listing = std::make_shared<HwCommand>();
  list->add_option("WHAT", listing->what,
                   "chips, links, memories, interconnects, nodes or clusters; all if left out")
      ->check(CLI::IsMember({"chips", "links", "memories", "interconnects", "nodes", "clusters"}))
      ->type_name("");
  add_format(*list, listing->format, false);
  set_example(*list, "flopcast hw list chips");
  list->callback(
      [listing, &action] { action = [listing](Io& io) { return run_list(io, *listing); }; });

  CLI::App* form = hw->add_subcommand("template", "A file to fill in, with units and comments");
  const auto kind = std::make_shared<std::string>();
  form->add_option("KIND", *kind, "chip, node, cluster or link; --on takes the file")
      ->required()
      ->type_name("");
  set_example(*form, "flopcast hw template cluster");
  form->callback([kind, &action] { action = [kind](Io& io) { return run_template(io, *kind); }; });

  CLI::App* show = hw->add_subcommand(
      "show", "Every number of one entry, or of any cluster, with its unit and source");
  const auto showing = std::make_shared<HwCommand>();
  show->add_option("NAME", showing->what,
                   "A chip, link, memory, node or cluster, a line like \"64 x dgx-h100, rail "
                   "NDR\", or a file")
      ->required()
      ->type_name("");
  add_format(*show, showing->format, false);
  set_example(*show, "flopcast hw show \"64 x dgx-h100, rail NDR\"");
  show->callback(
      [showing, &action] { action = [showing](Io& io) { return run_show(io, *showing); }; });
}

}  // namespace flopcast::cli
