test_that("a command that does not exist is one sentence", {
  old <- options(pairgossip.command = "/no/such/pairgossip")
  on.exit(options(old))
  expect_false(pg_available())
  expect_error(pg_exact(scores, "gini", "score"), class = "pg_error")
  expect_error(pg_command(), "'/no/such/pairgossip' does not exist: change options(", fixed = TRUE)
})

test_that("the option comes before the environment, and that before the path", {
  old <- options(pairgossip.command = NULL)
  was <- Sys.getenv(c("PAIRGOSSIP", "PATH"))
  on.exit({
    options(old)
    do.call(Sys.setenv, as.list(was))
  })
  Sys.setenv(PAIRGOSSIP = "/no/such/program")
  expect_error(pg_command(), "change the environment variable PAIRGOSSIP")
  options(pairgossip.command = c(R.home("bin/R"), "--version"))
  expect_equal(pg_command()[2], "--version")
  options(pairgossip.command = NULL)
  Sys.setenv(PAIRGOSSIP = "", PATH = tempdir())
  expect_error(pg_command(), "install the Python package", class = "pg_error")
})

test_that("refusals, warnings and what is said reach R", {
  expect_error(tell("column: a\nError: It is wrong.\n", 2), "^It is wrong\\.$", class = "pg_error")
  expect_error(tell("", 9), "status 9")
  expect_warning(tell("Warning: Look here.\n", 0), "^Look here\\.$")
  expect_message(tell("label: died\n", 0), "label: died")
})

test_that("errors of the command are those of R, without names of temporary files", {
  need_command()
  expect_error(pg_exact(scores, "ginni", "score"), "did you mean 'gini'", class = "pg_error")
  expect_error(pg_exact(scores, "gini", "scor"), "score", class = "pg_error")
  bad <- transform(scores["score"], score = replace(score, 3, NA))
  failed <- tryCatch(suppressMessages(pg_exact(bad, "gini", "score")), error = conditionMessage)
  expect_match(failed, "of the data", fixed = TRUE)
  expect_false(grepl(tempdir(), failed, fixed = TRUE))
  expect_match(failed, "row 3, is missing: fill it in, or leave the row out with missing = \"drop\"")
  expect_warning(pg_exact(bad, "gini", "score", missing = "drop"), "Left out 1 of 10 rows.*row 3\\.")
  expect_message(pg_roc(scores, "score", "ill"), "label: ill")
})

test_that("what the command says of rows and options is in words of R", {
  said <- "Error: x.csv has 186 missing entries, in column 'a' on lines 2, 9, 65 and 176 more"
  expect_match(translate_to_r(said, "x.csv"), "^Error: The data has .* on rows 1, 8, 64 and 176 more$")
  expect_equal(translate_to_r("x.csv, line 1000, and y", "x.csv"), "the data, row 999, and y")
  expect_equal(translate_to_r("on lines 3 and 4 of 'line 7'", "x"), "on rows 2 and 3 of 'line 7'")
  expect_equal(translate_to_r("line 3, --missing drop"), "line 3, missing = \"drop\"")
  expect_equal(
    translate_to_r("give --positive a b, or the other."),
    "give positive = \"a b\", or the other."
  )
  expect_equal(
    translate_to_r("Unknown option --group-bi: 'pairgossip exact --help' lists the options."),
    "Unknown option group_bi: 'pairgossip exact --help' lists the options."
  )
})

test_that("a data frame without rows is refused", {
  expect_error(pg_exact(scores[0, ], "gini", "score"), "no rows", class = "pg_error")
})
