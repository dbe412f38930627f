"""Problems: the interface of a kind of question, and the kinds about a text or a pair of texts."""
