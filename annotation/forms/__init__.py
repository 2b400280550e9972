"""Forms: what a browser sent, as typed values, with its errors in words."""
