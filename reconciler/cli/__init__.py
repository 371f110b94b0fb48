"""The command line: parse, call, render. The only room that knows click; `operations` holds what each command does."""
