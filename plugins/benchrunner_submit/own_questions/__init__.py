"""Questions of a user's own: files of them are read, and their answers are written."""
