"""The papers' experiments and their literal readings, as a plug-in of markovlogic."""
