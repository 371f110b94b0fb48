"""`reconciler schema`"""

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.desired.schema import schema
from reconciler.reports.documents import render


@cli_command("schema")
def command(terminal: Terminal) -> None:
    """Print the JSON Schema of the files in config/.

    With it, an editor completes and checks them while they are written. `reconciler init` writes it beside them; to
    update it after an upgrade:

    \b
        reconciler schema >config/.schema.json

    An editor with the YAML language server finds it by the first line of a file in config/:

    \b
        # yaml-language-server: $schema=.schema.json

    It shows what one file can show; `reconciler validate` finds every mistake.
    """
    terminal.print_document(render(schema()))
