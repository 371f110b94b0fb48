"""Pages with everything that a plan can say, and a browser that examines one in a frame of a given size."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from reconciler.errors import Message
from reconciler.model.address import Address, TargetName
from reconciler.model.outcome import Outcome
from reconciler.reports import html
from reconciler.reports.document import Document, Facts, Heading, Letter, Paragraph, Table
from reconciler.reports.plan import plan_document
from reconciler.reports.status import status_document
from support.scene import EUROPE, USA, Scene, hooks, target
from support.servers import component

if TYPE_CHECKING:
    from pathlib import Path

PRODUCTION = TargetName("europe/production")
RUN = (("Commit", "9fceb02d0ae598e95dc970b74767f19372d61af8"), ("Pull request", "#12"))
HOSTILE = "<script>document.title='x'</script>\"' &amp; \u202e javascript:alert(1) <img src=x onerror=alert(1)>"
PHONE, DESKTOP, PAPER = (375, 812), (1280, 800), (794, 1123)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
    "--virtual-time-budget=30000", "--window-size=1400,1200",
)  # fmt: skip
_HARNESS = """<!DOCTYPE html><title>harness</title><body style="margin:0">
<iframe id="frame" src="{page}" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>
onload = async () => {{
  const view = frame.contentWindow, page = frame.contentDocument, result = document.createElement("pre");
  try {{ result.textContent = JSON.stringify(await (async () => {{ {script} }})()); }}
  catch (error) {{ result.textContent = JSON.stringify(String(error)); }}
  result.id = "result";
  document.body.append(result);
}};
</script>
"""


def busy_scene() -> Scene:
    """Return three targets with something to create, extend, replace and remove, surplus, and two that are blocked."""
    scene = Scene({name: target(name, base_url=f"https://api.{name}.example") for name in (EUROPE, PRODUCTION, USA)})
    for name in (EUROPE, PRODUCTION, USA):
        for subscription, codes in (("applications", "ONB10001 LOA10013"), ("offers", "ONB10011")):
            scene.want(f"{name}/{subscription}", codes, hooks(f"{name}/{subscription}"))
            if name != USA:
                scene.bring(f"{name}/{subscription}", codes, hooks(f"{name}/{subscription}"))
    scene.want(f"{PRODUCTION}/applications", "ONB10001 ONB10012", hooks(f"{PRODUCTION}/applications"))
    scene.want(f"{PRODUCTION}/offers", "ONB10011", hooks(f"{PRODUCTION}/offers-v2/{{attempt}}"))
    scene.drop(f"{EUROPE}/applications")
    scene.want(f"{EUROPE}/lost", "ONB10020", hooks("lost"))
    scene.hear(scene.begin(f"{EUROPE}/lost", "ONB10020", hooks("lost")), Outcome.UNKNOWN)
    scene.request(scene.record.at_address(Address(f"{EUROPE}/offers"))[0].id)
    scene.recipients = ("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",)
    return scene


def documents() -> dict[str, Document]:
    """Return a plan and a status with everything, a plan without changes, and text from elsewhere everywhere."""
    scene, calm = busy_scene(), Scene()
    warning = Message("placeholder", "the host hooks.partner.example is a placeholder", "config/a.yaml:3:5")
    busy = plan_document(scene.plan(), [warning], "", scene.desired.subscriptions.values())
    foreign = Document(
        "plan", HOSTILE, facts=((HOSTILE, HOSTILE),), alerts=(Paragraph(HOSTILE), Heading(HOSTILE)),
        body=(*busy.body, Table((HOSTILE, "b"), ((HOSTILE, HOSTILE),)), Letter(HOSTILE, (HOSTILE,))),
        summary=(Facts(((HOSTILE, HOSTILE),)),),
    )  # fmt: skip
    return {
        "plan": replace(busy, facts=(*busy.facts, *RUN)),
        "status": status_document(scene.status()),
        "calm": plan_document(calm.plan()),
        "hostile": foreign,
    }


def write_pages(folder: Path) -> dict[str, Path]:
    """Write the page of each document and return the files by name."""
    for name, document in documents().items():
        (folder / f"{name}.html").write_text(html.render(document), encoding="utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


def examine(page: Path, script: str, size: tuple[int, int] = DESKTOP, media: str = "", library: str = "") -> Any:
    """Return what a script returns of a page (`page`, in a frame with the window `view`) in a browser.

    With `media`, the page is that of dark mode or of paper; `library` is a script to run in the page before. A page
    that is changed for either has no policy.
    """
    if media or library:
        source = re.sub("<meta http-equiv=[^>]*>", "", page.read_text(encoding="utf-8"))
        source = (
            source.replace("@media screen and (prefers-color-scheme: dark)", "@media all")
            if media == "dark"
            else source
        )
        source = source.replace("@media print", "@media all") if media == "print" else source
        page = page.with_name(f"{page.stem}-{media or 'library'}.html")
        page.write_text(source.replace("</body>", f"<script>{library}</script></body>"), encoding="utf-8")
    harness = page.with_suffix(".harness")
    harness = harness.with_name(f"{harness.stem}-harness.html")
    width, height = size
    harness.write_text(_HARNESS.format(page=page.name, width=width, height=height, script=script), encoding="utf-8")
    done = subprocess.run(
        [component("chromium"), *_FLAGS, f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", harness.as_uri()],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    harness.unlink()
    shown = re.search('<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert shown, done.stdout[-2000:]
    return json.loads(unescape(shown[1]))
