"""Why a probability is what it is: contributions of rules and facts that add up to its log-odds."""
