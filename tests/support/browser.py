"""Pages in a browser that is installed: what one shows, runs and asks for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.components import component, library

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@dataclass
class Browser:
    """A browser, with the complaints of its pages: errors, dialogs, and what they asked for beside themselves."""

    engine: Any
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path, **options: Any) -> Any:
        """The page of a file, in a context of its own; the one that was open is closed."""
        for context in self.engine.contexts:
            context.close()
        page = self.engine.new_context(**{"viewport": DESKTOP, **options}).new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self._asked(request.url, path.as_uri()))
        page.goto(path.as_uri())
        return page

    def _dismiss(self, dialog: Any) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def _asked(self, url: str, own: str) -> None:
        if url != own:
            self.complaints.append(url)


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium; skips the test where it is missing, as `component` does."""
    chromium = component("chromium")
    with library("playwright.sync_api").sync_playwright() as playwright:
        engine = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        try:
            yield Browser(engine)
        finally:
            engine.close()
