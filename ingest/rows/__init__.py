"""From raw lines to typed rows: what each line is, exactly, and the fast pass of the engine that agrees with it."""
