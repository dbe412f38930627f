"""How many grid points and restarts a study trains: searches, trainings of several lengths, looks and budgets."""
