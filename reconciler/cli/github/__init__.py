"""Report to pull requests and issues on GitHub.

For steps of GitHub Actions: takes GITHUB_TOKEN, which a step must be given in `env:`, and what the runner sets.
"""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "comment": "Keep the plan as one comment on the pull request.",
    "issues": "Keep an issue for each thing that needs attention.",
}
command = LazyGroup("github", help=__doc__, package=__name__, table=COMMANDS)
