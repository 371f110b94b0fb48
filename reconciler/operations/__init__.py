"""What each command does, without click: plans, applies, edits of the record, secrets."""
