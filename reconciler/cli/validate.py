"""`reconciler validate`"""

from msgspec.structs import replace

from reconciler.cli.options import cli_command, format_option
from reconciler.cli.terminal.actions import from_root
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import ConfigError
from reconciler.operations.validate import validate
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import VALIDATION


@cli_command("validate")
@format_option(VALIDATION)
def command(terminal: Terminal, form: str) -> int:
    """Check the configuration.

    Prints every mistake with its file, line, column and a fix. Warns of a configuration without subscriptions, and of
    files that are not read. Needs no credentials, no state record and no network. With --format github, prints
    annotations of GitHub Actions: the first ten mistakes and ten warnings, which is what it shows of a step, then the
    others as lines of the log.
    """
    validation = validate(Workspace(terminal))
    if form == "text":
        for warning in validation.warnings:
            terminal.warn(str(warning))
        if validation.mistakes:
            raise ConfigError(validation.mistakes, validation.count)
        validation = replace(validation, warnings=())
    if form == "github":
        mistakes, warnings = (tuple(map(from_root, found)) for found in (validation.mistakes, validation.warnings))
        validation = replace(validation, mistakes=mistakes, warnings=warnings)
    terminal.print_report(VALIDATION[form](validation))
    return int(bool(validation.mistakes))
