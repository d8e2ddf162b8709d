"""Facts: constants as integers, evidence in columns, and readers for files and tables."""
