"""What the ``forkmap`` command does: its documents for programs, its tables for people, its work."""
