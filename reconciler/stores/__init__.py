"""The places a record can be in: a file, a git branch, an object store, a database."""
