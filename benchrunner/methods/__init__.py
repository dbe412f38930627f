"""Methods: the ways to fit a backbone to a problem."""
