"""Pages with everything that a plan can say, and a browser that examines them in frames of given sizes."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

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
{frames}
<script>
const scripts = [{scripts}];
onload = async () => {{
  const found = [], result = document.createElement("pre");
  for (const [number, frame] of [...document.querySelectorAll("iframe")].entries())
    try {{ found.push(await scripts[number](frame.contentWindow, frame.contentDocument)); }}
    catch (error) {{ found.push(String(error)); }}
  result.textContent = JSON.stringify(found);
  result.id = "result";
  document.body.append(result);
}};
</script>
"""
_FRAME = '<iframe src="{0}" style="border:0;width:{1[0]}px;height:{1[1]}px"></iframe>'


class View(NamedTuple):
    """A page in a frame of a size, and a script that examines it (`page`, in the window `view`).

    With `media`, the page is that of dark mode or of paper; `library` is a script to run in the page before. A page
    that is changed for either has no policy.
    """

    page: Path
    script: str
    size: tuple[int, int] = DESKTOP
    media: str = ""
    library: str = ""

    def name(self) -> str:
        """Return the name of the file beside the page, written if the page is changed."""
        if not (self.media or self.library):
            return self.page.name
        source = re.sub("<meta http-equiv=[^>]*>", "", self.page.read_text(encoding="utf-8"))
        if self.media == "dark":
            source = source.replace("@media screen and (prefers-color-scheme: dark)", "@media all")
        source = source.replace("@media print", "@media all") if self.media == "print" else source
        changed = self.page.with_name(f"{self.page.stem}-{self.media or 'library'}.html")
        changed.write_text(source.replace("</body>", f"<script>{self.library}</script></body>"), encoding="utf-8")
        return changed.name


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
        "plan": replace(busy, facts=(*busy.facts, *RUN)), "status": status_document(scene.status()),
        "calm": plan_document(calm.plan()), "hostile": foreign,
    }  # fmt: skip


def write_pages(folder: Path) -> dict[str, Path]:
    """Write the page of each document and return the files by name."""
    for name, document in documents().items():
        (folder / f"{name}.html").write_text(html.render(document), encoding="utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


def examine(*views: View) -> list[Any]:
    """Return what each script returns of its page, all in one browser."""
    folder = views[0].page.parent
    harness = folder / "harness.html"
    frames = "".join(_FRAME.format(view.name(), view.size) for view in views)
    scripts = ",".join(f"async (view, page) => {{ {view.script} }}" for view in views)
    harness.write_text(_HARNESS.format(frames=frames, scripts=scripts), encoding="utf-8")
    done = subprocess.run(
        [component("chromium"), *_FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", harness.as_uri()],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    harness.unlink()
    shown = re.search('<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert shown, done.stdout[-2000:]
    found: list[Any] = json.loads(unescape(shown[1]))
    return found
