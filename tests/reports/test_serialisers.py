"""Every serialiser says the same, and nothing that comes from elsewhere is more than text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.plan_values import OFFERS, STAGING, change, differs, nasty, plan, plans

from reconciler.errors import Message, Step
from reconciler.model.plan import Action, Applied, Plan, Verdict
from reconciler.model.status import ProjectStatus, TargetStatus
from reconciler.reports import document as doc
from reconciler.reports import html, json, markdown, terminal
from reconciler.reports.apply import apply_document
from reconciler.reports.plan import plan_document
from reconciler.reports.status import status_document
from reconciler.reports.words import command_line, harmless_line, visible

VERBOSE = terminal.Layout(verbose=True)
FLAGS = ("--config", "other config")


def all_blocks(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    """Yield blocks with those that are folded in them."""
    for block in blocks:
        yield block
        if isinstance(block, doc.Details):
            yield from all_blocks(block.blocks)


def blocks_of(document: doc.Document) -> list[doc.Block]:
    """Return every block of a document."""
    following = (document.next,) if document.next else ()
    return list(all_blocks((*document.alerts, *document.body, *document.summary, *following, *document.details)))


def commands_of(document: doc.Document, flags: Sequence[str] = ()) -> list[str]:
    """Return every command of a document, as it is pasted."""
    todos = [
        todo
        for block in blocks_of(document)
        if isinstance(block, doc.Changed | doc.Commands | doc.Alert)
        for todo in block.todos
    ]
    return [command_line(command, flags) for todo in todos for command in todo.commands]


@settings(max_examples=40)
@given(plans())
def test_all_serialisers_say_the_same_changes_counts_and_commands(drawn: Plan) -> None:
    """Each change, the verdict with its counts, and each command are in the text, the Markdown and the page."""
    document = plan_document(drawn)
    text, marked = terminal.render(document, terminal.Layout(FLAGS, verbose=True)), markdown.render(document, FLAGS)
    page = unescape(html.render(document, FLAGS))
    for block in blocks_of(document):
        if isinstance(block, doc.Changed):
            assert f"{block.sign} {block.title}  {block.action}\n" in text
            assert f"| {block.sign} | {markdown.code(block.title)} | {block.action} |" in marked
            assert f"<b>{block.sign} {block.title}</b> {block.action}" in page
            for field in block.fields:
                for value in filter(None, (field.before, field.after)):
                    assert visible(value) in text
                    assert markdown.code(value) in marked
                    assert visible(value) in page
    counts = json.plan_json(drawn)["summary"]
    words = {action: f"{counts[action]} {'' if action is Action.BLOCKED else 'to '}{action}" for action in Action}
    assert [words[action] in document.title for action in Action] == [counts[action] > 0 for action in Action]
    assert visible(document.title) in text
    assert markdown.prose(document.title) in marked
    assert visible(document.title) in page
    for command in commands_of(document, FLAGS):
        assert command in [line.strip() for line in text.splitlines()]
        assert command in marked.splitlines()
        assert f">{command}</code>" in page


@settings(max_examples=40)
@given(plans(most=0))
def test_no_document_says_no_changes_where_something_differs(drawn: Plan) -> None:
    """Neither a plan, a status nor an apply does, in any format; where nothing differs, all do."""
    status = ProjectStatus(0.0, (TargetStatus(STAGING, ()),), drawn)
    applied = apply_document(Applied((), Verdict.DONE, left=drawn))
    for document in (plan_document(drawn), status_document(status), applied):
        for text in (terminal.render(document, VERBOSE), markdown.render(document), html.render(document)):
            assert ("No changes" in text) is not differs(drawn)
            assert ("match" in text) is not differs(drawn)


@settings(max_examples=40)
@given(plans())
def test_text_fits_a_terminal_of_80_columns(drawn: Plan) -> None:
    """No command breaks, and no other line is longer but for a word that cannot break."""
    document = plan_document(drawn)
    lines = terminal.render(document, terminal.Layout(width=80, verbose=True)).splitlines()
    commands = set(commands_of(document))
    assert commands <= {line.strip() for line in lines}
    long = [line for line in lines if len(line) > 80 and line.strip() not in commands]
    assert [line for line in long if len(line.split(maxsplit=1)[-1].split(" ")[-1]) < 50] == []


@settings(max_examples=40)
@given(plans())
def test_nothing_from_elsewhere_controls_a_terminal_or_a_runner(drawn: Plan) -> None:
    """No format has a control character, a character that reverses the direction, or a command of a runner."""
    document = plan_document(drawn)
    for text in (terminal.render(document, VERBOSE), markdown.render(document), html.render(document)):
        lines = text.splitlines()
        assert all(line.isprintable() for line in lines)
        assert not any(line.lstrip().startswith("::") for line in lines)
        assert "##[" not in text


@given(nasty)
def test_markdown_of_foreign_text_is_no_markup(text: str) -> None:
    """Outside of code, a sentence has plain words alone: no markup, link, mention or entity that makes one."""
    bare = re.sub("<code>[A-Za-z0-9 /,&#;]*</code>", "", markdown.prose(text))
    assert re.fullmatch(r"""[A-Za-z0-9 '",;:.!?()-]*""", bare)
    assert not re.match(r"[0-9]+[.)]", bare)


@given(st.lists(st.sampled_from(("Unknown:", "1", "(exit", "3).", "codes", "2.", '"5",', "(4)!")), min_size=1))
def test_plain_words_and_numbers_are_never_code_in_markdown(words: list[str]) -> None:
    """Nor is the punctuation after them, but where it would begin a list."""
    assert f"Applied {' '.join(words)}" == markdown.prose(f"Applied {' '.join(words)}")


def test_a_page_loads_nothing() -> None:
    """The page names no other place, and its policy allows its own style and script alone."""
    page = html.render(plan_document(plan(change())))
    assert "default-src 'none'; style-src 'sha256-" in page.replace("&#39;", "'")
    assert not re.findall(r"""(?:src|href)=|url\(|@import""", page)


def test_a_page_of_a_thousand_changes_is_small() -> None:
    """It is under 300 kB."""
    page = html.render(plan_document(plan(*(change(address=f"europe/staging/offers-{n}") for n in range(1000)))))
    assert len(page.encode()) < 300_000


def test_a_markdown_report_that_is_too_long_cannot_be_approved() -> None:
    """It is cut to what a job summary holds, and its first line says so."""
    document = plan_document(plan(*(change(address=f"europe/staging/{n}-{'x' * 200}") for n in range(3000))))
    text = markdown.render(document)
    assert len(text.encode()) <= markdown.LIMIT
    assert "cannot be approved" in text.splitlines()[0]


@pytest.mark.parametrize(("more", "whole"), [(0, True), (1, False)])
def test_a_markdown_report_is_cut_between_its_parts(more: int, whole: bool) -> None:
    """One that has just the size of a job summary is whole; of a longer one, as many parts as fit are kept."""
    parts = [doc.Paragraph("x" * 1000)] * 1000
    left = markdown.LIMIT - len(markdown.render(doc.Document("plan", "", body=(*parts, doc.Paragraph("")))))
    text = markdown.render(doc.Document("plan", "", body=(*parts, doc.Paragraph("x" * (left + more)))))
    assert ("cannot be approved" in text, len(text) == markdown.LIMIT) == (not whole, whole)
    assert text.count("x" * 1000 + "\n") - whole == 1000
    assert text.count("plan -->") == 1


def test_a_markdown_report_keeps_to_any_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the limit in bytes, one that is cut is the first line and as many parts as fit."""
    paragraphs = (doc.Paragraph("x" * size) for size in (1, 200, 2, 30))
    document = doc.Document("plan", "T", body=(doc.Changed("»", "a", "retry", doc.Tone.CHANGED), *paragraphs))
    whole = markdown.render(document)
    monkeypatch.setattr(markdown, "LIMIT", 0)
    first, parts = markdown.render(document), [f"{part}\n" for part in whole.split("\n\n")]
    cut = ["\n".join([first, *parts[:count]]) for count in range(len(parts))]
    for limit in range(len(first), len(whole.encode())):
        monkeypatch.setattr(markdown, "LIMIT", limit)
        assert max((text for text in cut if len(text.encode()) <= limit), key=len) == markdown.render(document)


@pytest.mark.parametrize("width", [20, 80, None])
def test_what_is_to_be_copied_is_not_wrapped(width: int | None) -> None:
    """At any width, the lines that follow a step's first one, and those of a letter, are whole, blanks and all."""
    lines = ["  indented  " + "word " * 40 + "end", "b" * 90, "- " * 60 + "c"]
    todo = doc.Todo("\n".join(["Save:", *lines]), ())
    alert = doc.Alert(doc.Tone.ERROR, "Error", "", (), (todo,))
    for block in (alert, doc.Letter("Send", tuple(lines)), doc.Commands((todo,))):
        rendered = terminal.render(doc.Document("m", "", body=(block,)), terminal.Layout(width=width)).splitlines()
        indent = " " * (len(rendered[-1]) - len(lines[-1]))
        assert [f"{indent}{line}" for line in lines] == rendered[-3:]


def test_no_command_breaks_at_the_width_of_a_terminal() -> None:
    """Sentences wrap at 80 columns; a command stays on its line, whole."""
    command = ("reconciler", "state", "resolve", OFFERS, "--not-created", "--attempt", "a" * 32, "--note", "b" * 40)
    message = Message("m", "word " * 40, OFFERS, (Step("to settle it, " + "word " * 20, command),))
    text = terminal.render(doc.Document("m", "", alerts=doc.alerts([message])), terminal.Layout(FLAGS, 80))
    assert f"    {command_line(command, FLAGS)}" in text.splitlines()
    assert all(len(line) <= 80 for line in text.splitlines() if "reconciler" not in line)


@settings(max_examples=40)
@given(plans())
def test_colour_says_nothing_by_itself(drawn: Plan) -> None:
    """Without its escapes, coloured text is the same as text without colour; each change has a sign and a word."""
    document = plan_document(plan(change(), *drawn.changes))
    coloured = terminal.render(document, terminal.Layout(colour=True, verbose=True))
    assert "\x1b[32m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == terminal.render(document, VERBOSE)


def test_a_table_that_is_too_wide_continues_on_the_next_lines() -> None:
    """Columns that do not fit a terminal follow below each row alike: one on a line, with its name, unless empty."""
    head, row = ("address", "codes", "URL", "attempt"), ("a" * 30, "1 code", "u" * 60, "b" * 32)
    table = doc.Table(head, (row, (*row[:2], "u", ""), ("c" * 30, "", "", "b")), (doc.Tone.ERROR,))
    lines = terminal.render(doc.Document("t", "", body=(table,)), terminal.Layout(width=80)).splitlines()
    first, second = [f"{head[0]:30}  codes", f"{row[0]}  1 code"], [f"    URL: {'u' * 60}", f"    attempt: {'b' * 32}"]
    assert [*first, *second, first[1], "    URL: u", "c" * 30, "    attempt: b"] == lines


@settings(max_examples=40)
@given(plans(), st.lists(st.tuples(nasty, nasty, nasty)), st.integers(1, 100))
def test_no_word_is_cut_at_any_width(drawn: Plan, rows: list[tuple[str, ...]], width: int) -> None:
    """A narrow terminal moves words to other lines; all are there, whole, and only names of columns are repeated."""
    document = plan_document(drawn)
    document = replace(document, body=(*document.body, doc.Table(("address", "URL", "attempt"), tuple(rows))))
    texts = [terminal.render(document, replace(VERBOSE, width=limit)) for limit in (None, width)]
    names = {"|", "URL", "URL:", "attempt", "attempt:"}
    wide, narrow = (Counter(word for word in text.split() if word not in names) for text in texts)
    assert wide == narrow


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31m", r"a\x1b[31m"), ("\u202ex", r"\u202ex"), ("##[error]", r"##\[error]"), ("ä±", "ä±"),
        ("a\nb", r"a\nb"),
    ],
)  # fmt: skip
def test_text_from_elsewhere_is_made_visible(text: str, shown: str) -> None:
    """What would act is spelt out; letters of any script stay."""
    assert visible(text) == shown


def test_a_line_never_begins_with_a_command_of_a_runner() -> None:
    """It is marked, behind blanks too."""
    assert harmless_line("  ::error::x") == "|   ::error::x"
