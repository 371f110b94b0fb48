"""The operations of the commands. They take a `Project` and return values that `cli` renders."""
