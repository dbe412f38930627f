"""ELMo-like models: two LSTM language models over word pieces, one for each direction of reading."""
