"""Speed and memory, as ratios against the engine's bare work in the same run: `make bench`."""
