"""What a run returns: answers by atom, and the table that users see."""
