"""What a repository on GitHub must have around the workflow: compared with what it has, and set through `gh`."""
