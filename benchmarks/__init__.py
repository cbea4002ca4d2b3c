"""What takes how long, as ratios against peers measured in the same run."""
