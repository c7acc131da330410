"""Names: architectures and products of GPUs, and placeholders among identities, with their tables beside them."""
