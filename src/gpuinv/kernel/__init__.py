"""What the kernel shows in small text files: procfs and sysfs; text in, nouns out."""
