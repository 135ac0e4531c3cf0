"""Pictures of examples/paper_dfmodel, drawn as SVG: heat maps, stacked bars, lines, a roofline."""

from __future__ import annotations

import math

from training_pictures import COLOURS, Axis, line, text

Point = tuple[float, float]
SHADES = [(247, 251, 255), (158, 202, 225), (33, 113, 181), (8, 48, 107)]


def shade(share: float) -> str:
    """A colour from light to dark for 0 .. 1."""
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    low = min(int(place), len(SHADES) - 2)
    mix = [a + (b - a) * (place - low) for a, b in zip(SHADES[low], SHADES[low + 1])]
    return "#" + "".join(f"{round(c):02x}" for c in mix)


def box(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    inside = f"<title>{title}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}">{inside}</rect>'


def picture(parts: list[str], title: str, width: float, height: float) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'font-family="sans-serif" font-size="11"><title>{title}</title>'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def heat_panel(title: str, rows: list[str], columns: list[str], cells: dict[Point, float], top: float) -> list[str]:
    """One panel: rows x columns, colours by logarithm."""
    left, wide, high = 92, 42, 18
    found = [v for v in cells.values() if v > 0]
    low, most = math.log(min(found)), math.log(max(found))
    parts = [text(8, top - 14, title, "start")]
    for c, column in enumerate(columns):
        x = left + wide * (c + 0.5)
        parts.append(
            f'<text transform="translate({x + 4:.0f} {top + 52:.0f}) rotate(-55)" font-size="9">{column}</text>'
        )
    for r, row in enumerate(rows):
        y = top + 58 + high * r
        parts.append(text(left - 6, y + 13, row, "end"))
        for c in range(len(columns)):
            value = cells.get((r, c))
            if value is None or value <= 0:
                continue
            share = (math.log(value) - low) / (most - low) if most > low else 0.5
            parts.append(box(left + wide * c, y, wide - 1, high - 1, shade(share), f"{row} {columns[c]}: {value:.6g}"))
            ink = "#fff" if share > 0.55 else "#000"
            parts.append(
                f'<text x="{left + wide * (c + 0.5) - 0.5:.1f}" y="{y + 12:.1f}" text-anchor="middle" '
                f'font-size="9" fill="{ink}">{short(value)}</text>'
            )
    return parts


def heat_maps(title: str, panels: list[tuple[str, list[str], list[str], dict[Point, float]]]) -> str:
    parts, top, width = [], 34.0, 0.0
    for name, rows, columns, cells in panels:
        parts += heat_panel(name, rows, columns, cells, top)
        top += 58 + 18 * len(rows) + 36
        width = max(width, 92 + 42 * len(columns) + 40)
    return picture(parts, title, width, top)


def legend(names: list[str], x: float, y: float) -> list[str]:
    parts = []
    for i, name in enumerate(names):
        parts.append(box(x, y + 16 * i, 10, 10, COLOURS[i % len(COLOURS)]))
        parts.append(text(x + 15, y + 9 + 16 * i, name, "start"))
    return parts


def stacked_bars(title: str, parts_of: dict[str, dict[str, float]], unit: str) -> str:
    """Horizontal bars, each of parts; all on one scale."""
    left, wide, high = 190, 520, 13
    names = list(next(iter(parts_of.values())))
    most = max(sum(parts.values()) for parts in parts_of.values())
    drawn = [text(left, 16, f"{title}, {unit}", "start")]
    for i, (name, parts) in enumerate(parts_of.items()):
        y, x = 26 + high * i, float(left)
        drawn.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end" font-size="9">{name}</text>')
        for p, (part, value) in enumerate(parts.items()):
            length = value / most * wide
            drawn.append(box(x, y, length, high - 2, COLOURS[p], f"{name} {part}: {value:.6g} {unit}"))
            x += length
        drawn.append(f'<text x="{x + 4:.0f}" y="{y + 9}" font-size="9">{short(sum(parts.values()))}</text>')
    drawn += legend(names, left + wide + 60, 26)
    return picture(drawn, title, left + wide + 170, 36 + high * len(parts_of))


def lines(
    title: str,
    series: dict[str, list[Point]],
    titles: tuple[str, str],
    logs: tuple[bool, bool] = (False, False),
    marks: dict[str, list[Point]] | None = None,
) -> str:
    """Lines through points, and points of their own (`marks`)."""
    width, height = 640, 380
    every = [p for points in [*series.values(), *(marks or {}).values()] for p in points]
    xs, ys = [p[0] for p in every], [p[1] for p in every]
    low = min(ys) / 1.3 if logs[1] else min(0.0, min(ys))
    x = Axis(min(xs), max(xs), 70, width - 190, logs[0])
    y = Axis(low, max(ys) * (1.3 if logs[1] else 1.05), height - 45, 16, logs[1])
    parts = []
    for tick in x.ticks() if not logs[0] else sorted(set(xs)):
        parts.append(text(x.at(tick), height - 28, short(tick)))
    for tick in y.ticks():
        parts.append(line((70, y.at(tick)), (width - 190, y.at(tick)), 'stroke="#ddd"'))
        parts.append(text(64, y.at(tick) + 4, short(tick), "end"))
    parts.append(text((width - 120) / 2, height - 8, titles[0]))
    parts.append(f'<text transform="translate(14 {height / 2:.0f}) rotate(-90)" text-anchor="middle">{titles[1]}</text>')
    names = []
    for i, (name, points) in enumerate(series.items()):
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2"/>')
        names.append(name)
    for name, points in (marks or {}).items():
        colour = COLOURS[len(names) % len(COLOURS)]
        parts += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="4" fill="{colour}"/>' for a, b in points]
        names.append(name)
    parts += legend(names, width - 180, 20)
    return picture(parts, title, width, height)


def roofline(title: str, points: dict[str, dict[str, float]], peak: float, memory: float, link: float) -> str:
    """Two roofs side by side: DRAM and links; TFLOP/s against FLOP per byte, both logarithmic."""
    parts, height = [], 380
    for panel, (key, bandwidth, name) in enumerate(
        (("memory_intensity", memory, "DRAM"), ("network_intensity", link, "links"))
    ):
        left = 60 + 400 * panel
        values = [p[key] for p in points.values()]
        knee = peak * 1e3 / bandwidth
        low, most = min(*values, knee) / 2, max(*values, knee) * 2
        x = Axis(low, most, left, left + 330, True)
        y = Axis(min(p["tflops"] for p in points.values()) / 2, peak * 1.5, height - 45, 16, True)
        start = max(low, 10**y.low * 1e3 / bandwidth)
        roof = [(start, bandwidth * start / 1e3), (knee, peak), (most, peak)]
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in roof)
        parts.append(f'<polyline points="{path}" fill="none" stroke="#444" stroke-width="2"/>')
        for tick in x.ticks():
            parts.append(text(x.at(tick), height - 28, f"{tick:g}"))
        for tick in y.ticks():
            parts.append(text(left - 6, y.at(tick) + 4, f"{tick:g}", "end"))
        parts.append(text(left + 165, height - 8, f"FLOP per byte of {name} ({bandwidth:g} GB/s)"))
        for i, (label, point) in enumerate(points.items()):
            colour = COLOURS[i % len(COLOURS)]
            parts.append(
                f'<circle cx="{x.at(point[key]):.1f}" cy="{y.at(point["tflops"]):.1f}" r="5" fill="{colour}">'
                f"<title>{label}: {point[key]:.5g} FLOP/B, {point['tflops']:.4g} TFLOP/s</title></circle>"
            )
    parts.append(f'<text transform="translate(14 {height / 2:.0f}) rotate(-90)" text-anchor="middle">TFLOP/s a chip</text>')
    parts += legend(list(points), 810, 24)
    return picture(parts, title, 930, height)
