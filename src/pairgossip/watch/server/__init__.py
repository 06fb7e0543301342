"""The page's server: who may connect, what is asked, and what is sent to whom."""
