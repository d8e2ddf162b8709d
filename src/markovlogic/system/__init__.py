"""What every part needs of the machine: arrays, time, memory, temporary files, progress."""
