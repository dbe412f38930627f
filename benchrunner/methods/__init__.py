"""Methods: the ways to fit a backbone to a problem, each with what it puts on top of the encoder."""
