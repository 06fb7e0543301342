"""What members compute of sums of which nothing but the sum becomes known."""
