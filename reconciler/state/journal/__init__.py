"""One journal: its entries as JSON, the chain of hashes, and how two histories of it are joined. No I/O."""
