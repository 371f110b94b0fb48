"""One journal: its entries as JSON, the hash chain, and how two copies of it are merged. No I/O."""
