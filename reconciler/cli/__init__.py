"""The command line: it parses arguments, calls `operations` and renders the results. Only this room imports click."""
