"""Problems: the kinds of question that tasks share."""
