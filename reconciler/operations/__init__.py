"""The operations behind the commands: they take a `Project` and return values that `cli` renders."""
