"""Log formats: declarative files that say how to recognise a log and which key feeds which canonical column."""
