test_that("numbers keep all their bits", {
  random <- c(0.1, 0.1 + 0.2, 1 / 3, 1e300, 5e-324, -2.5, 1e5, 123456789012345678, 0)
  expect_identical(as.numeric(spell_numbers(random)), random)
  expect_identical(spell_numbers(c(0.95, 3, 100000)), c("0.95", "3", "100000"))
})

test_that("options are spelled with hyphens, and must have names", {
  words <- spell_options(list(group_by = "ward", null = -1, flag = TRUE, not = FALSE, none = NULL))
  expect_identical(words, c("--group-by=ward", "--null=-1", "--flag"))
  expect_identical(spell_options(list(column = c("a", "b"))), c("--column=a", "--column=b"))
  expect_error(spell_options(list("ward")), "by = \"sex\"", fixed = TRUE)
  expect_error(spell_options(list(column = NA)), "Option column")
})

test_that("a file holds what the data frame does", {
  data <- data.frame(
    x = c(0.1 + 0.2, NA, 3), n = c(1L, NA, 3L), l = c(TRUE, FALSE, NA),
    t = c("a \"b\", c", NA, "d\u00e9"), d = as.Date(c("2024-01-02", NA, "2024-03-04"))
  )
  names(data)[1] <- "x, \"y\""
  file <- tempfile()
  write_csv(data, file)
  read <- utils::read.csv(file, check.names = FALSE, encoding = "UTF-8")
  expect_identical(names(read), names(data))
  expect_identical(read[[1]], data[[1]])
  expect_identical(read$n, data$n)
  expect_identical(read$l, c(1L, 0L, NA))
  expect_identical(enc2utf8(read$t), enc2utf8(data$t))
  expect_identical(as.Date(read$d), data$d)
  unlink(file)
})

test_that("only columns that are named are written", {
  rows <- write_rows(scores, list(column = "score", label = "ill"))
  expect_identical(readLines(rows$made, 1), "\"score\",\"ill\"")
  unlink(rows$made)
  expect_identical(names(choose_columns(scores, list(column = "score,other"))), c("score", "other"))
  expect_identical(choose_columns(scores, list(column = "misspelled")), scores)
  expect_identical(choose_columns(scores, list()), scores)
})

test_that("levels of a factor are classes, unless classes are given", {
  data <- data.frame(x = 1:4, ill = factor(c("no", "yes", "no", "yes"), c("yes", "no", "never")))
  classes <- function(...) declare_classes(data, list(label = "ill", ...))$classes
  expect_identical(classes(), "yes,no")
  expect_null(classes(positive = "yes"))
  expect_identical(classes(classes = "no,yes"), "no,yes")
  data$ill <- factor(c("a", "b", "c", "a"))
  expect_null(classes())
  data$ill <- ordered(data$ill)
  expect_identical(classes(), "a,b,c")
})

test_that("what is no table is refused", {
  expect_error(pg_exact(list(1), "gini"), "Data are a data frame", class = "pg_error")
  expect_error(pg_exact(matrix(1:4, 2), "gini"), "no column names", class = "pg_error")
  data <- data.frame(x = 1:2)
  data$y <- list(1, 2)
  expect_error(pg_exact(data, "gini"), "'y' holds more than one value", class = "pg_error")
})
