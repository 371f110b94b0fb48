"""The matrix: event codes by subscription and target, with the webhook URLs; staging beside production."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from reconciler.model.address import Address
from reconciler.reports.html.marks import STEADY, routes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.overview import TargetOverview
    from reconciler.reports.html.marks import Kind, Mark, Routes

COLUMNS = 8
"""Targets beside each other at most; a region is not divided, and more regions are a table of their own."""


class Shown(NamedTuple):
    """A mark, with its URL unless it was said above; `…` in it stands for the host of the column."""

    kind: Kind
    url: str


class Cell(NamedTuple):
    """What becomes of the codes of a row on one target. `anchor`: the first cell of its address on the page."""

    address: Address
    marks: tuple[Shown, ...]
    anchor: bool


class Row(NamedTuple):
    """Codes of one subscription that fare the same on every target."""

    name: str
    codes: tuple[str, ...]
    cells: tuple[Cell | None, ...]


class Matrix(NamedTuple):
    """Some targets beside each other: the rows with something to look at, and those without.

    `hosts` are what most of the URLs of each target begin with: the others stand out.
    """

    targets: tuple[TargetName, ...]
    hosts: tuple[str, ...]
    rows: tuple[Row, ...]
    steady: tuple[Row, ...]


def matrices(targets: Sequence[TargetOverview]) -> Iterator[Matrix]:
    """The matrix, in as many tables as the number of targets takes; they are sorted `by_region`."""
    routes = {target.standing.name: routes_of(target) for target in targets}
    for names in _columns(list(routes)):
        yield _matrix(names, [routes[name] for name in names])


def by_region(name: TargetName) -> tuple[str, bool, str]:
    """The order of targets: production comes last in its region."""
    return name.region, name.environment == "production", name.environment


def _columns(names: Sequence[TargetName]) -> Iterator[tuple[TargetName, ...]]:
    columns: list[TargetName] = []
    for _, region in groupby(names, key=lambda name: name.region):
        of_region = list(region)
        if columns and len(columns) + len(of_region) > COLUMNS:
            yield tuple(columns)
            columns = []
        columns += of_region
    if columns:
        yield tuple(columns)


def _matrix(targets: tuple[TargetName, ...], routes: Sequence[Routes]) -> Matrix:
    rows: list[Row] = []
    steady: list[Row] = []
    hosts = tuple(_host(of_target) for of_target in routes)
    for name in sorted({name for of_target in routes for name in of_target}):
        of_name = _rows(name, [*zip(targets, hosts, strict=True)], [of_target.get(name, {}) for of_target in routes])
        is_steady = all(shown.kind in STEADY for row in of_name for cell in row.cells if cell for shown in cell.marks)
        (steady if is_steady else rows).extend(of_name)
    return Matrix(targets, hosts, tuple(rows), tuple(steady))


def _rows(
    name: str, targets: Sequence[tuple[TargetName, str]], routes: Sequence[Mapping[str, tuple[Mark, ...]]]
) -> list[Row]:
    """The rows of one subscription: codes that fare the same on every target share one."""
    alike: dict[tuple[tuple[Mark, ...], ...], list[str]] = {}
    for code in sorted({code for codes in routes for code in codes}):
        alike.setdefault(tuple(codes.get(code, ()) for codes in routes), []).append(code)
    named: dict[TargetName, set[str]] = {target: set() for target, _ in targets}
    rows = []
    for columns, codes in alike.items():
        cells = []
        for (target, host), marks in zip(targets, columns, strict=True):
            anchor = bool(marks) and not named[target]
            shown = tuple(_shown(marks, named[target], host))
            cells.append(Cell(Address.of(target, name), shown, anchor) if marks else None)
        rows.append(Row(name, tuple(codes), tuple(cells)))
    return rows


def _shown(marks: Sequence[Mark], named: set[str], host: str) -> Iterator[Shown]:
    for mark in marks:
        url = "" if mark.url in named else mark.url
        named.add(mark.url)
        yield Shown(mark.kind, f"…{url.removeprefix(host)}" if host and url.startswith(f"{host}/") else url)


def _host(routes: Routes) -> str:
    """What most of the URLs of a target begin with, up to their paths; empty if no two do."""
    urls = {mark.url for codes in routes.values() for marks in codes.values() for mark in marks}
    hosts = Counter("/".join(parts[:3]) for url in sorted(urls) if len(parts := url.split("/", 3)) > 3)
    host, count = max(hosts.items(), key=itemgetter(1), default=("", 0))
    return host if count > 1 else ""
