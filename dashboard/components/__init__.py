"""Parts that several pages share. Pages lay out; what is drawn twice, asked for or remembered lives here."""
