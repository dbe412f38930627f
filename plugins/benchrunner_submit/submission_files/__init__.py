"""Files of submissions: archives and folders that are written and checked, and their manifests."""
