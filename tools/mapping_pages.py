"""The study pages of examples/paper_dfmodel: text, tables and pictures of one figure each."""

from __future__ import annotations

from collections.abc import Callable

import mapping_pictures as draw
from docs_text import table

Row = dict
TOPOLOGIES = ["2d_torus", "dragonfly", "3d_torus", "dgx_1", "dgx_2"]
CHIPS = ["h100", "tpu", "sn30", "wse-2"]
COLUMNS = [(c, m, n) for c in CHIPS for m in ("ddr", "hbm") for n in ("pcie", "nvlink")]


class Page:
    """Text of one page and the pictures that lie beside it."""

    def __init__(self, study: str, title: str, points: list[Row], checks: list[Row]) -> None:
        self.study, self.points, self.checks = study, points, checks
        self.parts = [f"# {title}\n"]
        self.pictures: dict[str, str] = {}
        self.say(f"`flopcast validate mapping --study {study} --csv`: [{study}.csv]({study}.csv)")

    def say(self, *paragraphs: str) -> None:
        self.parts += [paragraph.strip() + "\n" for paragraph in paragraphs]

    def show(self, name: str, svg: str, words: str) -> None:
        self.pictures[f"{name}.svg"] = svg
        self.parts.append(f"![{words}]({name}.svg)\n")

    def rows(self, titles: list[str], keys: list[str], points: list[Row] | None = None) -> None:
        cells = [[word(p[k]) for k in keys] for p in (self.points if points is None else points)]
        self.parts.append(table(titles, cells))

    def compared(self, *sections: str) -> None:
        """Published code and ours, number by number."""
        found = [c for c in self.checks if c["section"] in sections]
        if not found:
            self.say("The published numbers of this figure are not in the files that were compared.")
            return
        cells = [[c["name"], c["field"], word(c["expected"]), word(c["got"]), f"{c['relative']:+.1e}", c["kind"]]
                 for c in found]  # fmt: skip
        self.say("Published code and ours:")
        self.parts.append(table(["run", "number", "published code", "ours", "relative", "held to"], cells))

    def text(self) -> str:
        return "\n".join(self.parts)


def word(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def column(choice: tuple[str, str, str]) -> str:
    return " ".join(choice)


def heat(points: list[Row], key: str) -> dict:
    cells = {}
    for p in points:
        place = (TOPOLOGIES.index(p["topology"]), COLUMNS.index((p["chip"], p["memory"], p["link"])))
        cells[place] = p[key]
    return cells


def design(page: Page, sections: list[str], claims: str, difference: list[str]) -> None:
    for p in page.points:
        p["per_kusd"], p["per_kw"] = p["tflops_per_usd"] * 1e3, p["tflops_per_w"] * 1e3
    panels = [(name, TOPOLOGIES, [column(c) for c in COLUMNS], heat(page.points, key))
              for name, key in (("utilisation", "utilisation"), ("TFLOP/s per 1,000 USD", "per_kusd"),
                                ("TFLOP/s per kW", "per_kw"))]  # fmt: skip
    page.show(f"{page.study}_maps", draw.heat_maps(page.parts[0][2:].strip(), panels), "Heat maps")
    bars = {p["system"]: {"compute": p["compute_ns"] / 1e6, "DRAM": p["memory_ns"] / 1e6, "network": p["network_ns"] / 1e6}
            for p in page.points}  # fmt: skip
    total = {p["system"]: p["layer_ns"] for p in page.points}
    scaled = {s: {k: v / sum(b.values()) * 100 for k, v in b.items()} for s, b in bars.items()}
    page.show(f"{page.study}_latency", draw.stacked_bars("Where a layer's time goes", scaled, "% of the sum of the three"),
              "Latency breakdown")  # fmt: skip
    page.say("Compute, DRAM and links work at once, so a layer takes the largest of the three in each partition, not "
             f"their sum; a layer takes {min(total.values()) / 1e6:.3g} to {max(total.values()) / 1e6:.3g} ms. "
             f"The largest proven gap of the {len(page.points)} points is {max(p['gap'] for p in page.points):.2g}.",
             *difference)  # fmt: skip
    page.say(claims)
    page.compared(*sections)


def fig06(page: Page) -> None:
    page.rows(["", "tokens/s"], ["quantity", "tokens_per_s"])
    page.say("Of figure 6 the published files hold no numbers: its bars are only drawn. What is public is one stream "
             "of Llama3-8B on 16 SN40L, which the paper's serving section cites at 1100 tokens/s.",
             "The published graph has full attention and two matrices in the MLP (5.9 billion parameters of layers); "
             "the model itself has grouped queries and a third, gating matrix (7.0 billion), and reads more weights. "
             "Both count bytes at the full DRAM bandwidth and no time of launches.")  # fmt: skip
    page.compared("fig20_serving")


def fig07(page: Page) -> None:
    published = [(int(c["name"].split()[1]), c["expected"]) for c in page.checks
                 if c["section"] == "fig7_rail_only" and c["field"] == "final_s" and "recomputed" not in c["name"]]  # fmt: skip
    ours = [(p["domain"], p["step_s"]) for p in page.points]
    marks = {"published logs": sorted(set(published))} if published else None
    page.show("fig07", draw.lines("Step time by NVLink domain", {"ours": ours}, ("chips of a domain", "s a step"),
                                  (True, False), marks), "Step time by domain")  # fmt: skip
    page.rows(["domain", "layer, ns", "step, s", "utilisation"], ["domain", "layer_ns", "step_s", "utilisation"])
    page.say("TP 8, PP 2, DP 1024 as published, one microbatch of a sequence, no overlap, all of the peak. An "
             "all-reduce counts one pass here and two in the comparison with Calculon: the two validations of the "
             "paper use different models, and `all_reduce_factor` says which.",
             "The published ratios give the tensor- and the data-parallel group each a whole domain, though their "
             "chips share it; with domains of 8 that makes the data-parallel sum faster than it can be. The paper "
             "reports 3.1 % mean error against Rail-Only's own model; those curves are only drawn.")  # fmt: skip
    page.compared("fig7_rail_only")


def fig08(page: Page) -> None:
    series = {f"fixed {p['fixed']}": [] for p in page.points}
    for p in page.points:
        varied = p["dp"] if p["fixed"] == "tp" else p["tp"]
        series[f"fixed {p['fixed']}"].append((varied, p["step_s"]))
    page.show("fig08", draw.lines("Step time by degrees", series, ("TP (DP where TP is fixed)", "s a step"), (True, True)),
              "Step time by degrees")  # fmt: skip
    page.rows(["fixed", "TP", "PP", "DP", "layer, ns", "step, s", "utilisation"],
              ["fixed", "tp", "pp", "dp", "layer_ns", "step_s", "utilisation"])  # fmt: skip
    page.say("4,096 A100, links of 150, 25 and 25 GB/s, no overlap, 90 % of the peak; all-reduces take two passes. One "
             "published log was read (TP 16, PP 8, DP 32). The paper reports 4.1 % mean error against Calculon. The "
             "model has no limit of DRAM here: neither has the published one.")  # fmt: skip
    page.compared("fig8_calculon")


def fig09(page: Page) -> None:
    chips = [(p["tflops"], p["kw"]) for p in page.points]
    fitted = sorted((p["tflops"], p["fitted_kw"]) for p in page.points)
    page.show("fig09", draw.lines("Power by peak rate", {"least squares": fitted}, ("TFLOP/s", "kW"), (True, False),
                                  {"chips": chips}), "Power by peak rate")  # fmt: skip
    page.rows(["chip", "TFLOP/s", "USD", "fitted USD", "kW", "fitted kW", "kW by the formula as printed"],
              ["chip", "tflops", "usd", "fitted_usd", "kw", "fitted_kw", "printed_kw"])  # fmt: skip
    page.say("The paper prints Y = 3e-7 X² - 4.3e-4 X + 0.04 kW. With that minus three of the four chips it was fitted "
             "to would give power back; least squares on the same four give +4.2e-4. The published code has no price "
             "formula, only prices: the same fit of those stands beside them.")  # fmt: skip
    page.compared("power_fit")


def fig10(page: Page) -> None:
    design(page, ["llm_dse_read", "llm_dse80_recomputed", "points", "llm_dse_claims"],
           "The ratios that the paper states are geometric means over pairs of systems that differ in one thing; the "
           "claim table is in [docs/validation/mapping.md](../../docs/validation/mapping.md).",
           ["SN30 runs in three partitions a pass, the wafer in one, GPUs and TPUs kernel by kernel, all as published. "
            "The published log of the TPU on a dragonfly stopped at its time limit with 6 % slack. The parameters are "
            "those of the setups (DDR 300, HBM 3072, PCIe 50, NVLink 450 GB/s on the first dimension); with those that "
            "section VI.C of the paper prints its own ratios do not come out."])  # fmt: skip


def fig12(page: Page) -> None:
    design(page, ["dlrm"],
           "All twelve ratios of the paper come out within its rounding.",
           ["Every kernel is its own partition, as the published setups leave it, but on the wafer. The published "
            "code bounds the time of the gradients' sums, in ns, by their bytes, as if every link had 1 GB/s; that is "
            "repeated in these runs, and tells on the wafer alone (29,160 ns a microbatch). Lookups and the all-to-all are "
            "in both passes; the graph has no edge from the last forward to the first backward kernel."])  # fmt: skip


def fig14(page: Page) -> None:
    design(page, ["hpl"],
           "Utilisation is 0.9 on all 80 systems, the constant of the model: the figure's differences are price and power.",
           ["The paper's text says 5M x 5M; its setups are 64 iterations of N = 1,048,576 in blocks of 2,048, half "
            "precision. Broadcasts and exchanges of panels are shorter than the update everywhere; the published "
            "breakdown (figure 15) plots what the solver left free."])  # fmt: skip


def fig16(page: Page) -> None:
    design(page, ["fft"],
           "All twelve ratios of the paper come out within its rounding.",
           ["The four published setups of an H100 on a dragonfly say half its peak, and no others do; the paper's ratios "
            "need those halves, and efficiencies per full peak. An all-to-all on a torus shares its links between both "
            "directions, as published (N B / 4 bw); full mode uses N B / 8 bw."])  # fmt: skip


def fig18(page: Page) -> None:
    points = {p["mapping"]: p for p in page.points}
    faster = lambda ring: f"{points[f'DFModel {ring}']['step_s'] / points[f'exact DP {ring}']['step_s'] - 1:.1%}"  # noqa: E731
    peaks = {c["field"]: c["got"] for c in page.checks if c["section"] == "fig18_roofline" and c["name"] == "peaks"}
    if peaks:
        page.show("fig18", draw.roofline("Six mappings under their roofs", points, peaks["tflops"], peaks["dram_gbps"],
                                         peaks["link_gbps"]), "Roofline")  # fmt: skip
    page.rows(["mapping", "layer, ns", "step, s", "bound under its pins, s", "utilisation", "FLOP per DRAM byte",
               "FLOP per link byte", "TFLOP/s", "partitions"],
              ["mapping", "layer_ns", "step_s", "bound_s", "utilisation", "memory_intensity", "network_intensity",
               "tflops", "partitions"])  # fmt: skip
    page.say("The four published mappings and the optimum under the same constraints and the same number of partitions. "
             "In the published 8x1 run all eight GEMMs are pinned by hand; the log of 4x2 ends in an interrupt. Neither "
             f"is optimal under the model's own rules: 8x1 can be {faster('8x1')} faster, 4x2 {faster('4x2')}.",
             "DRAM gives 100 and a link 50 GB/s as in the setups; the paper prints 200 and 25.",
             "Where several divisions of an element-wise kernel move as many bytes the published solver's is kept.")  # fmt: skip
    page.compared("table_VI", "fig18_roofline")


def fig19(page: Page) -> None:
    rows = sorted({p["sram_mb"] for p in page.points})
    columns = sorted({p["memory_gbps"] for p in page.points})
    panels = []
    for name, key in (("kernel by kernel", "kernel_by_kernel"), ("dataflow, 90 % of the peak", "dataflow"),
                      ("dataflow, cycles of the tiles", "dataflow_cycles")):  # fmt: skip
        cells = {(rows.index(p["sram_mb"]), columns.index(p["memory_gbps"])): p[key] for p in page.points}
        panels.append((name + ": utilisation", [f"{r:g} MB" for r in rows], [f"{c:g} GB/s" for c in columns], cells))
    page.show("fig19", draw.heat_maps("SRAM against DRAM bandwidth", panels), "Utilisation")
    page.rows(["SRAM, MB", "DRAM, GB/s", "kernel by kernel", "dataflow", "dataflow, cycles"],
              ["sram_mb", "memory_gbps", "kernel_by_kernel", "dataflow", "dataflow_cycles"])  # fmt: skip
    page.say("The SRAM sizes are assumed: the setups that were read name only the largest, 500 MiB. "
             "Kernel by kernel does not depend on SRAM, as published. 0 where nothing fits. The third published "
             "bandwidth is 1000 GB/s; the paper prints 600.",
             "The one dataflow log that was read counts cycles. Its tiles cover 2,052 of 2,048 rows and its split of "
             "the cores takes 73,728 cycles where 49,152 suffice: it is above the optimum, which is listed.")  # fmt: skip
    page.compared("fig19")


def fig20(page: Page) -> None:
    for phase, name in (("prefill", "TTFT"), ("decode", "TPOT")):
        own = [p for p in page.points if p["phase"] == phase]
        series = {"published script": [(p["tp"], p["latency_ms"]) for p in own],
                  "its later version": [(p["tp"], p["latency_later_script_ms"]) for p in own]}  # fmt: skip
        page.show(f"fig20_{phase}", draw.lines(f"{name} by TP", series, ("TP (PP = 16 / TP)", "ms"), (True, False)), name)
    page.rows(["phase", "TP", "PP", "layer, ns", "latency, ms", "later script, ms", "tokens/s"],
              ["phase", "tp", "pp", "layer_ns", "latency_ms", "latency_later_script_ms", "tokens_per_s"])  # fmt: skip
    page.say("Nothing overlaps; a layer computes, reads DRAM and sends in turn. Prefill reads nothing from DRAM and "
             "decoding reads weights and 4,096 cached tokens, attending to 4,097. Throughput has a microbatch in every "
             "stage: one user alone waits PP times as long.",
             "The two published scripts differ in a hop between stages (all of a token's state and 200 ns, or a chip's "
             "share and 150 ns). The paper says that TTFT and TPOT fall with PP; by its formulas they rise, as each "
             "stage then has fewer chips.")  # fmt: skip
    page.compared("fig20_serving")


def fig21(page: Page) -> None:
    for drafted in sorted({p["drafted"] for p in page.points})[1::2]:
        own = [p for p in page.points if p["drafted"] == drafted]
        series = {name: [(p["acceptance"], p[key]) for p in own]
                  for name, key in (("sequence, published", "published_per_s"), ("sequence, corrected", "corrected_per_s"),
                                    ("tree, published", "tree_published_per_s"), ("tree, corrected", "tree_corrected_per_s"),
                                    ("without drafts", "alone_per_s"))}  # fmt: skip
        page.show(f"fig21_{drafted:g}", draw.lines(f"{drafted:g} drafted tokens", series, ("acceptance", "tokens/s")),
                  f"{drafted:g} drafted tokens")  # fmt: skip
    page.rows(["acceptance", "drafted", "published, tokens/s", "corrected", "tree, published", "tree, corrected",
               "without"],
              ["acceptance", "drafted", "published_per_s", "corrected_per_s", "tree_published_per_s",
               "tree_corrected_per_s", "alone_per_s"])  # fmt: skip
    page.say("With K drafted tokens, acceptance a, a draft token in d and a target token in t the published script has "
             "(K a + 1) / (K d + t). A token counts only if all before it were accepted, which gives "
             "(1 - a^(K+1)) / (1 - a) tokens a round: less than K a + 1 for 0 < a < 1 and K > 1. And the target looks at "
             "K + 1 tokens: here it is mapped for them, as a microbatch (each with a cache of its own, so an upper limit).",
             "No code of the trees was found; the paper speaks of 2^K tokens. Published is read as (K a + 1) / (2^K d + t). "
             "Corrected: K levels of two independent branches, a level is passed with probability 1 - (1 - a)², its "
             "nodes are drafted at once, and the target looks at all 2^(K+1) - 1 nodes.",
             "Draft: Llama3-8B as published; target: Llama3-70B with its own layers; both on the same 16 SN40L with "
             "TP 16 (assumed: the paper's models are not in the files that were read).")  # fmt: skip


def fig22(page: Page) -> None:
    series: dict = {}
    for p in page.points:
        series.setdefault(f"{p['memory']} {p['memory_gbps']:g} GB/s", []).append((p["compute_share"], p["tflops"]))
    logged: dict = {}
    for c in page.checks:
        if c["section"] == "fig22_3d":
            logged.setdefault(c["name"], {})[c["field"]] = c["expected"]
    published = [(float(name.split(", ")[1]), run["util"] * run["gflops"] / 1e3) for name, run in logged.items()]
    page.show("fig22", draw.lines("TFLOP/s a chip by share of compute tiles", series, ("share of compute tiles", "TFLOP/s"),
                                  (False, True), {"published": published} if published else None), "TFLOP/s")  # fmt: skip
    page.rows(["memory", "GB/s", "compute share", "tile", "layer, ns", "utilisation", "TFLOP/s"],
              ["memory", "memory_gbps", "compute_share", "tile", "layer_ns", "utilisation", "tflops"])  # fmt: skip
    page.say("Eight chips of a ring of 1000 GB/s, TP 8, kernel by kernel, cycles of 32 x 6 tiles at 1.6 GHz; SRAM is what "
             "compute leaves, half a MiB a tile. The paper's text says 1,024 SN40L; the setups have eight chips. In them "
             "the number of heads and the width of a head are exchanged.",
             "Traffic is the published one: a kernel whose weights do not fit passes all its tensors once per piece, and no "
             "byte of weights is counted. The logs are not optima: "
             "the one of stacked memory ended at 600 s with a gap of 79.5 %.")  # fmt: skip
    page.compared("fig22_3d")


PAGES: dict[str, Callable[[Page], None]] = {
    "fig06": fig06, "fig07": fig07, "fig08": fig08, "fig09": fig09, "fig10": fig10, "fig12": fig12, "fig14": fig14,
    "fig16": fig16, "fig18": fig18, "fig19": fig19, "fig20": fig20, "fig21": fig21, "fig22": fig22,
}  # fmt: skip
