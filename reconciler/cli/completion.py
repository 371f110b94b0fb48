"""`reconciler completion`"""

import click
from click.shell_completion import get_completion_class

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal


@cli_command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def command(terminal: Terminal, shell: str) -> None:
    """Print the script that completes command lines in a shell.

    SHELL is bash, zsh or fish. Completes commands and options, and from config/ and the state record on this machine
    targets, addresses and attempts. To load it in each new shell:

    \b
        echo 'eval "$(reconciler completion bash)"' >>~/.bashrc
        echo 'eval "$(reconciler completion zsh)"' >>~/.zshrc
        reconciler completion fish >~/.config/fish/completions/reconciler.fish
    """
    program = click.get_current_context().find_root()
    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101 - click has these three
    terminal.print_document(complete(program.command, {}, "reconciler", "_RECONCILER_COMPLETE").source())
