"""Where journals are stored: the protocol of a store, the function that opens one, and a file or folder for each."""
