"""The read side: result tables, pages, reports and the command line over a published snapshot."""
