"""The commands without the command line: they take a `Project`, and return values for `cli` to render."""
