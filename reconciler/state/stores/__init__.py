"""Where journals live: the protocol of a store, what opens one by its location, and one file or folder for each."""
