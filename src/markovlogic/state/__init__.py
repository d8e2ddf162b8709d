"""What a run leaves behind for the next one: answers, worlds and digests of components, by names."""

LAST_RUN = "last-run"  # file of a state's folder: what the last command wrote
