"""Text from elsewhere, escaped so that a terminal and a runner of GitHub Actions show it and do nothing else."""


def visible(text: str) -> str:
    """`text` with every character escaped that could move a cursor, start a line or reverse the reading direction.

    So is `##[`: anywhere in a line, a runner of GitHub Actions takes it for the beginning of a command.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return text.replace("##[", r"##\[")


def harmless_line(text: str) -> str:
    """`text` as a line that is no command: a runner takes `::` at its beginning for one, behind blanks too."""
    shown = visible(text)
    return f"| {shown}" if shown.lstrip().startswith("::") else shown


def without_commands(document: str) -> str:
    """A JSON document with the same content and no `##[`, which only a string of it can contain."""
    return document.replace("##[", r"##\u005b")
