"""What a run leaves behind for the next one: answers, worlds and digests of components, by names."""
