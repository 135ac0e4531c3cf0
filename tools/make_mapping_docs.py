#!/usr/bin/env python3
"""Writes docs/validation/mapping.md and the study pages of examples/paper_dfmodel.

    tools/make_mapping_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE
                               [--studies examples/paper_dfmodel]

Numbers of the published code come from examples/paper_dfmodel/published.json and, where it is there,
from oracles/dataflow_mapping.json of --shared; all others are computed.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from docs_text import Program, folded, page_parser, table
from mapping_pages import PAGES, Page, word

LISTS = {"checks": "1e-6", "optimum_below_published_log": "not converged", "as_printed_in_the_paper": "the paper's print"}
TITLES = {
    "table_VI": "Table VI", "fig18_roofline": "Figure 18", "llm_dse_read": "Figure 10, logs", "points": "Figure 10",
    "llm_dse80_recomputed": "Figure 10, 41 of 80 points", "llm_dse_claims": "Figure 10, ratios", "dlrm": "Figures 12, 13",
    "hpl": "Figures 14, 15", "fft": "Figures 16, 17", "fig7_rail_only": "Figure 7", "fig8_calculon": "Figure 8",
    "fig19": "Figure 19", "fig20_serving": "Figure 20", "fig22_3d": "Figure 22", "power_fit": "Figure 9",
    "accelerators": "Chips", "memory_interconnect": "Memories and links", "workloads": "Graphs",
    "dp_stats": "Order ideals", "milp_stats": "Optima of a MILP solver",
}  # fmt: skip


def all_checks(validation: dict) -> list[dict]:
    return [{**check, "kind": kind} for name, kind in LISTS.items() for check in validation[name]]


def validations(program: Program, shared: Path, studies: Path) -> list[tuple[str, dict]]:
    files = [(str(studies / "published.json"), studies / "published.json")]
    oracle = shared / "oracles/dataflow_mapping.json"
    if oracle.exists():
        files.append(("expected values of the paper's runs", oracle))
    return [(name, program.json("validate", "mapping", str(path))) for name, path in files]


def summary(found: list[tuple[str, dict]]) -> str:
    rows = []
    for name, validation in found:
        s = validation["summary"]
        rows.append([name, str(s["n"]), f"{s['max_rel']:.1e}", s.get("worst", ""), str(s["unconverged"]),
                     str(s["paper"]), str(s["not_checked"])])  # fmt: skip
    return table(["file", "numbers held", "worst", "which", "not converged", "paper's print", "not checked"], rows)


def by_section(checks: list[dict]) -> str:
    rows = []
    for section, title in TITLES.items():
        own = [c for c in checks if c["section"] == section and c["kind"] == LISTS["checks"]]
        if own:
            worst = max(own, key=lambda c: c["unexplained"])
            rows.append([title, str(len(own)), f"{worst['unexplained']:.1e}", f"{worst['name']} {worst['field']}"])
    return table(["", "numbers", "worst", "which"], rows)


def claims(checks: list[dict]) -> str:
    """Ratios that the paper states: what it prints, what its code's parameters give, ours."""
    rows = []
    for c in checks:
        if c["section"] == "llm_dse_claims" and c["field"] == "recomputed":
            paper = next((p["expected"] for p in checks if p["section"] == c["section"] and p["field"] == "paper"
                          and p["name"] == c["name"]), None)  # fmt: skip
            rows.append(["GPT3-1T", c["name"], word(paper), word(c["expected"]), f"{c['got']:.4g}"])
        if c["name"] == "paper_claims":
            rows.append([c["section"].upper(), c["field"], word(c["expected"]), "", f"{c['got']:.4g}"])
        if c["section"] == "table_VI" and c["name"] == "ratios" and not c["field"].startswith("paper"):
            paper = next((p["expected"] for p in checks if p["field"] == "paper " + c["field"]), None)
            rows.append(["Table VI", c["field"], word(paper), word(c["expected"]), f"{c['got']:.5g}"])
    return table(["", "ratio", "paper", "published code", "ours"], rows)


def differing(checks: list[dict], kind: str) -> str:
    rows = [[TITLES.get(c["section"], c["section"]), c["name"], c["field"], word(c["expected"]), word(c["got"]),
             f"{c['relative']:+.2%}"] for c in checks if c["kind"] == kind]  # fmt: skip
    return table(["", "run", "number", "published", "ours", "relative"], rows)


def unchecked(validation: dict) -> str:
    return table(["section", "place", "numbers", "why"],
                 [[g["section"], g["name"], str(g["numbers"]), g["why"]] for g in validation["not_checked"]])  # fmt: skip


def page(program: Program, found: list[tuple[str, dict]], points: dict[str, dict]) -> str:
    checks = all_checks(found[-1][1])
    optima = {p["mapping"]: p for p in points["fig18"]["points"]}
    rows = [[name, word(p["step_s"]), word(p["bound_s"]), word(p["utilisation"])] for name, p in optima.items()]
    return "\n".join([
        "# The mapping search against published numbers\n",
        f"Made by `./dev docs mapping` ({program.version()}); `flopcast validate mapping FILE.json` repeats it.\n",
        "Every run is the search in paper mode with the settings of the published setups: nothing has a formula of its "
        "own. A number is held to 1e-6 beyond the half digit that its own rounding explains. Studies, figure by figure: "
        "[examples/paper_dfmodel](../../examples/paper_dfmodel/README.md).\n",
        summary(found), by_section(checks),
        "## Claims\n",
        "Ratios over systems are geometric means of pairs that differ in nothing else; plain means do not give the "
        "paper's. The published code's column is what its parameters give; the parameters that section VI.C prints do not.\n",
        claims(checks),
        "## Table VI: published and best\n",
        "The best under the same constraints is the shortest path over the graph's order ideals, so its bound is its time.\n",
        table(["mapping", "step, s", "bound, s", "utilisation"], rows),
        "## Optimum below published log\n",
        "Logs whose solver stopped at a limit, or left slack in what does not bind. They are printed and not held.\n",
        differing(checks, LISTS["optimum_below_published_log"]),
        "## As printed in the paper\n",
        "Where the paper's text has other parameters than its setups, or rounds otherwise than its logs.\n",
        differing(checks, LISTS["as_printed_in_the_paper"]),
        folded("Numbers of the file that nothing is compared with", unchecked(found[-1][1])),
    ])  # fmt: skip


def index(studies: dict[str, dict]) -> str:
    rows = [[f"[{name}]({name}.md)", s["title"], f"`flopcast validate mapping --study {name}`"] for name, s in studies.items()]
    return "\n".join([
        "# The studies of DFModel, again\n",
        "S. Ko et al., \"DFModel: Design Space Optimization of Large-Scale Systems Exploiting Dataflow Mappings\", "
        "computed by the mapping search in paper mode. A page per study: paper, published code and ours side by side, "
        "with a sentence on every difference. `docs/theory/mapping.md` has the model.\n",
        "```bash\nflopcast validate mapping --study fig07            # one study, as a table; --csv and --json as well\n"
        "flopcast validate mapping examples/paper_dfmodel/published.json   # published numbers against ours\n"
        "./examples/paper_dfmodel/studies.sh studies        # all studies as CSV files\n```\n",
        table(["page", "study", "command"], rows),
        "`published.json` holds a few numbers of the published logs in the schema that `flopcast validate mapping` reads. "
        "Made by `./dev docs mapping`.\n",
    ])  # fmt: skip


def write_study(folder: Path, name: str, study: dict, checks: list[dict]) -> None:
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, fieldnames=list(study["points"][0]), lineterminator="\n")
        rows.writeheader()
        rows.writerows(study["points"])
    own = Page(name, study["title"], study["points"], checks)
    PAGES[name](own)
    (folder / f"{name}.md").write_text(own.text(), encoding="utf-8")
    for file, svg in own.pictures.items():
        (folder / file).write_text(svg, encoding="utf-8")


def main() -> None:
    parser = page_parser(__doc__ or "")
    parser.add_argument("--studies", type=Path, default=Path("examples/paper_dfmodel"))
    options = parser.parse_args()
    program = Program(options.flopcast)
    found = validations(program, options.shared, options.studies)
    checks = [c for _, validation in found for c in all_checks(validation)]
    seen = {json.dumps([c["section"], c["name"], c["field"]]): c for c in checks}
    studies = {name: program.json("validate", "mapping", "--study", name) for name in PAGES}
    for name, study in studies.items():
        write_study(options.studies, name, study, list(seen.values()))
    (options.studies / "README.md").write_text(index(studies), encoding="utf-8")
    options.out.write_text(page(program, found, studies), encoding="utf-8")


if __name__ == "__main__":
    main()
