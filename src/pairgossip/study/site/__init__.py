"""One member's answers to questions: its policy, its offers of rows, its counts, and its words."""
