"""The picture of how the time grows, for a light page and for a dark one: the same bytes for the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks.growth import OURS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Lines = Mapping[str, Mapping[int, float]]

THEMES = {
    "light": {"text": "#1f2328", "grid": "#d1d9e0", "lines": ["#0969da", "#8250df", "#9a6700"]},
    "dark": {"text": "#e6edf3", "grid": "#3d444d", "lines": ["#4493f8", "#ab7df8", "#d29922"]},
}
_TITLES = {"plan": "plan, nothing to change", "apply": "apply, all to create"}
_LINE_HEIGHT = 14  # points
_STYLE = {
    "svg.hashsalt": "reconciler",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["Arial", "Helvetica", "DejaVu Sans"],
    "font.size": 11,
}


def draw(growth: Mapping[str, Lines], directory: Path) -> None:
    """Write `growth-light.svg` and `growth-dark.svg`."""
    for theme, colors in THEMES.items():
        with mpl.rc_context(_STYLE):
            figure = Figure(figsize=(9.6, 3.6))
            figure.subplots_adjust(left=0.07, right=0.835, bottom=0.15, top=0.9, wspace=0.55)
            for axes, (command, lines) in zip(figure.subplots(1, 2), growth.items(), strict=True):
                _dress(axes, _TITLES[command], colors)
                _draw_lines(axes, lines, colors)
            path = directory / f"growth-{theme}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})


def _draw_lines(axes: Any, lines: Lines, colors: Mapping[str, Any]) -> None:
    """A line for each, with its name at its end; names that would overlap are moved apart."""
    drawn = [(name, [*map(int, taken)], [*taken.values()]) for name, taken in lines.items()]
    colored = dict(zip(lines, colors["lines"], strict=False))
    for name, counts, seconds in drawn:
        width = 2.4 if name == OURS else 1.6
        axes.plot(counts, seconds, color=colored[name], marker="o", markersize=4, linewidth=width)
    axes.autoscale_view()  # now, since where the ends are depends on it
    lowest = float("-inf")
    for name, counts, seconds in sorted(drawn, key=lambda line: line[2][-1]):
        end = axes.transData.transform((counts[-1], seconds[-1]))[1] * 72 / axes.figure.dpi
        at = max(end, lowest + _LINE_HEIGHT)
        lowest = at
        axes.annotate(
            name, (counts[-1], seconds[-1]), xytext=(7, at - end), textcoords="offset points", va="center",
            color=colored[name], fontweight="bold" if name == OURS else "normal", annotation_clip=False,
        )  # fmt: skip


def _dress(axes: Any, title: str, colors: Mapping[str, Any]) -> None:
    """Scales, titles and a grid."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.set_title(title, color=colors["text"], loc="left", fontsize=12)
    axes.set_xlabel("subscriptions", color=colors["text"])
    axes.set_ylabel("seconds", color=colors["text"])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.tick_params(colors=colors["text"], length=0)
    axes.grid(color=colors["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
