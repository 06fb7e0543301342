# pg_exact and pg_test: a statistic over all pairs of rows.

# The exact value of a pairwise statistic.
pg_exact <- function(data, kernel, column = NULL, label = NULL, ..., interval = NULL, by = NULL) {
  asked <- list(kernel = kernel, column = column, label = label, interval = interval, by = by)
  found <- ask_rows("exact", data, c(asked, list(...)))
  if (is.null(by)) new_answer(found) else new_groups(found)
}

# Test a pairwise statistic.
pg_test <- function(data, kernel, column = NULL, label = NULL, ..., null = NULL,
                    alternative = "two.sided", interval = 0.95, by = NULL) {
  asked <- list(
    kernel = kernel, column = column, label = label, null = null,
    alternative = gsub(".", "-", alternative, fixed = TRUE), interval = interval, by = by
  )
  found <- ask_rows("test", data, c(asked, list(...)))
  if (!is.null(by)) return(new_groups(found))
  name <- if (is.character(data)) paste(data, collapse = ", ") else deparse1(substitute(data))
  new_test(found, alternative, name)
}

# Run a command over rows, and return what it prints.
ask_rows <- function(command, data, options) {
  rows <- write_rows(data, options)
  on.exit(unlink(rows$made))
  words <- c(command, rows$files, "--json", spell_options(rows$options))
  run_json(words, function(text) translate_to_r(text, rows$made))
}

new_answer <- function(found) structure(found, class = "pg_answer")

new_groups <- function(found) structure(found, class = "pg_groups")

# As a test of R's own, whose names other packages know.
new_test <- function(found, alternative, name) {
  statistic <- found$statistic
  estimate <- setNames(found$value, statistic)
  test <- list(
    statistic = if (!is.null(found$z)) c(z = found$z),
    p.value = or_na(found$p),
    conf.int = if (!is.null(found$interval)) {
      structure(as.double(found$interval), conf.level = found$level)
    },
    estimate = estimate,
    null.value = if (!is.null(found$null)) setNames(found$null, statistic),
    stderr = or_na(found$error),
    alternative = alternative,
    method = describe_method(found),
    data.name = describe_rows(found, name),
    details = found
  )
  structure(Filter(Negate(is.null), test), class = c("pg_test", "htest"))
}

describe_method <- function(found) {
  law <- if (is.null(found$law)) "" else paste0(" (p comes from ", found$law, ")")
  paste0("Test of ", found$statistic, law)
}

describe_rows <- function(found, name) {
  columns <- paste(found$columns, collapse = ", ")
  label <- if (is.null(found$label)) "" else paste0(" by ", found$label)
  positive <- if (is.null(found$positive)) "" else paste0(" (positive: ", found$positive, ")")
  paste0(columns, label, positive, " of ", name)
}

or_na <- function(x) if (is.null(x)) NA_real_ else as.double(x)

# The two ends of an interval or bracket; NA where there is none.
ends_of <- function(x) if (length(x) == 2) as.double(x) else c(NA_real_, NA_real_)
