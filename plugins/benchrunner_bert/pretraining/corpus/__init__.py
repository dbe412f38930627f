"""From raw text to tokens: sources, sentences, the vocabulary and the token store."""
