"""What docstrings and comments cite can be read: it stands in the repository, or in an RFC."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

import reconciler

ROOT = Path(__file__).parents[1]
SOURCES = [*Path(reconciler.__file__).parent.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
PAGES = {path.name: path for folder in (ROOT, ROOT / ".github") for path in folder.glob("*.md")}
NUMBER = r"\d+(?:\.\d+)*"
CITATION = re.compile(rf"(?i)(?:([\w.-]+(?: \d+)?),? )?\bsections? ({NUMBER}(?:(?:,? and |, | to ){NUMBER})*)")


def prose(source: str) -> str:
    """The docstrings and comments of a module, each in one line."""
    kinds = (tokenize.STRING, tokenize.COMMENT)
    tokens = [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds]
    return "\n".join(re.sub(r"\s+", " ", text) for text in tokens if text.startswith(('"""', "#")))


def sections(page: str) -> set[str]:
    """The numbers of a page's sections: of headings, of rows, and of paragraphs that begin with them."""
    return set(re.findall(rf"^(?:#+ |\| )?({NUMBER})(?:\.? |: |, )", page, re.MULTILINE))


def unreadable(text: str) -> list[str]:
    """The citations that lead nowhere."""
    wrong = [page for page in re.findall(r"[\w-]+\.md\b", text) if page not in PAGES]
    wrong += re.findall(r"(?i)service description|\binterface, section", text)
    for cited, numbers in CITATION.findall(text):
        known = sections(PAGES[cited].read_text(encoding="utf-8")) if cited in PAGES else set()
        if not re.fullmatch(r"RFC \d+", cited) and not set(re.findall(NUMBER, numbers)) <= known:
            wrong.append(f"{cited}, section {numbers}")
    return wrong


def test_citations_can_be_read() -> None:
    """Every page that is cited is here, and has the sections that are cited."""
    found = {path: unreadable(prose(path.read_text(encoding="utf-8"))) for path in SOURCES if path != Path(__file__)}
    assert {} == {path: wrong for path, wrong in found.items() if wrong}
    assert any("SERVICE.md, section" in path.read_text(encoding="utf-8") for path in SOURCES)


@pytest.mark.parametrize(
    "text",
    [
        "# see NOWHERE.md",
        "# SERVICE.md, section 4.6",
        "# SERVICE.md, sections 4.1 and 10",
        "# section 5",
        "# the service description",
    ],
)
def test_citations_that_lead_nowhere_are_found(text: str) -> None:
    """A page that is not here, a section that it does not have, a section of nothing."""
    assert len(unreadable(prose(f"{text}\n"))) == 1


def test_citations_across_lines_are_read() -> None:
    """Docstrings wrap where they will."""
    assert ["SERVICE.md, section 12"] == unreadable(prose('"""As in SERVICE.md,\nsection 12."""\n'))
    assert [] == unreadable(prose('"""SERVICE.md, sections 2.3, 4 to 8 and 4.5; RFC 9110, section 5.6.2."""\n'))
