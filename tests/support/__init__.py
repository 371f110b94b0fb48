"""What tests stand on: scenes, doubles, services, strategies."""
