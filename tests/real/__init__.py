"""The real software that the shipped formats read: started on loopback, ended by its process id, and counted."""
