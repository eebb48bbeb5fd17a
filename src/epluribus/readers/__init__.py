"""Reading draws from what users have, and writing answers."""
