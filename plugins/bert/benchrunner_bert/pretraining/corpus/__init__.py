"""Raw text to tokens: sources, sentences, vocabulary and the token store."""
