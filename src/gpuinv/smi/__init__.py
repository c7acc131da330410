"""nvidia-smi: one module for each of its outputs; text or bytes in, nouns out."""
