"""The stores: a record can be in a file, on a git branch, in an object store or in a database."""
