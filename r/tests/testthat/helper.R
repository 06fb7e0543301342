# Tests run the real command, wherever it is; without one there is nothing to test.
need_command <- function() testthat::skip_if_not(pg_available(), "there is no command pairgossip")

scores <- data.frame(
  score = c(0.1 + 0.2, 1 / 3, 0.9, 0.8, 0.35, 0.7, 0.2, 0.6, 0.5, 0.4),
  other = c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3),
  ill = c(0, 0, 1, 1, 0, 1, 0, 0, 1, 1)
)

# The share of pairs in which the ill one has the higher score.
count_auc <- function(score, ill) {
  differences <- outer(score[ill == 1], score[ill == 0], "-")
  mean((sign(differences) + 1) / 2)
}
