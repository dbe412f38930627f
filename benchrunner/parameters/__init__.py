"""Parameters: the values that users set for fits, with their recipes, grids and limits."""
