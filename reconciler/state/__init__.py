"""Where the state record lives: entries as bytes, the chain that holds them together, and the stores they lie in."""
