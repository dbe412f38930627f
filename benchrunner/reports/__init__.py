"""Reports: a study as one file of HTML that opens without a network."""
