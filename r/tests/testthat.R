library(testthat)
library(pairgossip)

test_check("pairgossip")
