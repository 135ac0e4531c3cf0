"""Pictures of docs/validation/training.md, drawn as SVG: forecast against measured, error by size."""

from __future__ import annotations

import math

WIDTH, HEIGHT = 640, 480
LEFT, RIGHT, TOP, BOTTOM = 80, 168, 16, 48
COLOURS = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0"]

Point = tuple[float, float]


class Axis:
    """A logarithmic or linear scale from values to pixels."""

    def __init__(self, low: float, high: float, first: float, last: float, log: bool) -> None:
        self.log, self.first, self.last = log, first, last
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)

    def at(self, value: float) -> float:
        place = math.log10(value) if self.log else value
        place = min(max(place, self.low), self.high)
        return self.first + (place - self.low) / (self.high - self.low) * (self.last - self.first)

    def ticks(self) -> list[float]:
        if self.log:
            return [10.0**k for k in range(math.ceil(self.low), math.floor(self.high) + 1)]
        step = (self.high - self.low) / 6
        return [self.low + step * k for k in range(7)]


def line(a: Point, b: Point, style: str) -> str:
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" {style}/>'


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def frame(x: Axis, y: Axis, titles: tuple[str, str], name_x, name_y) -> list[str]:
    parts = []
    for tick in x.ticks():
        at = x.at(tick)
        parts.append(line((at, y.first), (at, y.last), 'stroke="#ddd"'))
        parts.append(text(at, y.first + 16, name_x(tick)))
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(line((x.first, at), (x.last, at), 'stroke="#ddd"'))
        parts.append(text(x.first - 6, at + 4, name_y(tick), "end"))
    parts.append(text((x.first + x.last) / 2, HEIGHT - 8, titles[0]))
    middle = (y.first + y.last) / 2
    parts.append(f'<text transform="translate(16 {middle:.0f}) rotate(-90)" text-anchor="middle">{titles[1]}</text>')
    return parts


def dots(groups: dict[str, list[Point]], x: Axis, y: Axis) -> list[str]:
    parts = []
    for i, (name, points) in enumerate(groups.items()):
        colour = COLOURS[i % len(COLOURS)]
        parts.append(f'<g fill="{colour}" fill-opacity="0.6">')
        parts += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="2.5"/>' for a, b in points]
        parts.append("</g>")
        height = TOP + 10 + 18 * i
        parts.append(f'<circle cx="{x.last + 14:.0f}" cy="{height - 4}" r="4" fill="{colour}"/>')
        parts.append(text(x.last + 24, height, f"{name} ({len(points)})", "start"))
    return parts


def picture(parts: list[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def seconds(value: float) -> str:
    return f"{value:g} s"


def percent(value: float) -> str:
    return f"{100 * value:+.0f} %" if abs(value) > 1e-9 else "0 %"


def parity(groups: dict[str, list[Point]]) -> str:
    """@param groups name: (measured, forecast) in seconds."""
    values = [v for points in groups.values() for p in points for v in p]
    low, high = min(values) / 1.3, max(values) * 1.3
    x = Axis(low, high, LEFT, WIDTH - RIGHT, True)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP, True)
    parts = frame(x, y, ("measured", "forecast"), seconds, seconds)
    dashed = 'stroke="#999" stroke-dasharray="4"'
    for factor, style in ((1, 'stroke="#000"'), (1.2, dashed), (1 / 1.2, dashed)):
        ends = [low * max(1, 1 / factor), high / max(1, factor)]
        parts.append(line((x.at(ends[0]), y.at(ends[0] * factor)), (x.at(ends[1]), y.at(ends[1] * factor)), style))
    return picture(parts + dots(groups, x, y), "Forecast against measured step time; dashed: 20 % off")


def error_by_chips(groups: dict[str, list[Point]]) -> str:
    """@param groups name: (chips, forecast / measured - 1). Errors beyond 60 % are drawn at the edge."""
    chips = [p[0] for points in groups.values() for p in points]
    x = Axis(min(chips) / 1.3, max(chips) * 1.3, LEFT, WIDTH - RIGHT, True)
    y = Axis(-0.6, 0.6, HEIGHT - BOTTOM, TOP, False)
    parts = frame(x, y, ("chips", "forecast / measured - 1"), lambda v: f"{v:,.0f}", percent)
    parts.append(line((x.first, y.at(0)), (x.last, y.at(0)), 'stroke="#000"'))
    return picture(parts + dots(groups, x, y), "Error of the step time by number of chips")
