# How answers are shown, and how they become data frames.

group_digits <- function(x) format(x, big.mark = ",", trim = TRUE)

short <- function(x, digits = 4) formatC(as.double(x), digits = digits, format = "fg", flag = "#")

# "0.945 (95 %: 0.923 to 0.962)", of an answer or a part of one.
format_answer <- function(found, level = found$level) {
  value <- if (is.null(found$value)) "unknown" else short(found$value)
  if (anyNA(c(or_na(found$low), or_na(found$high)))) return(value)
  sprintf("%s (%g %%: %s to %s)", value, 100 * level, short(found$low), short(found$high))
}

format.pg_answer <- function(x, ...) format_answer(x)

as.double.pg_answer <- function(x, ...) or_na(x$value)

print.pg_answer <- function(x, ...) {
  cat(describe_asked(x), ": ", format_answer(x), "\n", sep = "")
  if (!is.null(x$by_site)) cat("if sites are drawn whole: ", format_answer(x$by_site), "\n", sep = "")
  invisible(x)
}

describe_asked <- function(x) {
  label <- if (is.null(x$label)) "" else paste0(" by ", x$label)
  positive <- if (is.null(x$positive)) "" else paste0(" (positive: ", x$positive, ")")
  paste0(x$statistic, " of ", paste(x$columns, collapse = ", "), label, positive)
}

as.data.frame.pg_answer <- function(x, ...) {
  drawn <- list(rows = x, sites = x$by_site)
  drawn <- drawn[!vapply(drawn, is.null, logical(1))]
  data.frame(statistic = x$statistic, drawn = names(drawn), bind(drawn, NUMBERS))
}

NUMBERS <- c("value", "error", "low", "high", "level")

# Parts that hold the same numbers as a data frame, a row each; NA where a number is not there.
bind <- function(parts, names) {
  columns <- lapply(names, function(name) {
    vapply(parts, function(part) or_na(part[[name]]), double(1), USE.NAMES = FALSE)
  })
  as.data.frame(setNames(columns, names))
}

as.data.frame.pg_test <- function(x, ...) {
  found <- x$details
  ends <- ends_of(found$interval)
  data.frame(
    statistic = found$statistic, bind(list(found), c("value", "error")),
    low = ends[1], high = ends[2], bind(list(found), c("level", "null", "z", "p")),
    alternative = found$alternative
  )
}

print.pg_test <- function(x, ...) {
  NextMethod()
  why <- x$details$reason
  if (!is.null(why)) cat("no interval: ", why, "\n\n", sep = "")
  sites <- x$details$by_site
  if (!is.null(sites)) {
    p <- format.pval(or_na(sites[["p"]]), digits = 4)
    cat("if sites are drawn whole: z = ", short(or_na(sites$z)), ", p = ", p, "\n\n", sep = "")
  }
  invisible(x)
}

as.data.frame.pg_groups <- function(x, row.names = NULL, optional = FALSE, ...,
                                    which = c("groups", "differences")) {
  if (match.arg(which) == "differences") return(list_differences(x))
  parts <- c(x$groups, list(all = x$all))
  counts <- vapply(x$groups, function(one) as.double(one$rows), double(1), USE.NAMES = FALSE)
  reasons <- vapply(parts, function(one) {
    if (is.null(one$reason)) NA_character_ else one$reason
  }, character(1), USE.NAMES = FALSE)
  names <- c(names(x$groups), NA)
  data.frame(group = names, bind(parts, NUMBERS), rows = c(counts, sum(counts)), reason = reasons)
}

list_differences <- function(x) {
  sides <- lapply(c(first = "first", second = "second"), function(side) {
    vapply(x$differences, function(one) one[[side]], character(1))
  })
  numbers <- c("value", "error", "low", "high", "p", "adjusted")
  data.frame(sides, bind(x$differences, numbers))
}

print.pg_groups <- function(x, ...) {
  cat(describe_asked(x), "; groups: ", x$by, "\n", sep = "")
  shown <- as.data.frame(x)
  shown$group[nrow(shown)] <- "(all rows)"
  print(shown[colSums(!is.na(shown)) > 0], row.names = FALSE, digits = 4)
  if (length(x$differences) > 0) {
    cat("\ndifferences\n")
    shown <- list_differences(x)
    print(shown[colSums(!is.na(shown)) > 0], row.names = FALSE, digits = 4)
  }
  if (!is.null(x$equality[["p"]])) {
    cat("\nall groups are equal: p = ", format.pval(x$equality[["p"]], digits = 4), "\n", sep = "")
  }
  invisible(x)
}

as.data.frame.pg_result <- function(x, ...) {
  interval <- ends_of(x$interval)
  bracket <- ends_of(x$bracket)
  data.frame(
    question = x$question, value = or_na(x$value), low = interval[1], high = interval[2],
    least = bracket[1], most = bracket[2], p = or_na(x[["p"]]), rows = or_na(x$rows),
    members = count_members(x)
  )
}

count_members <- function(x) {
  if (isTRUE(x$is_own)) as.integer(x$members) else length(x$members)
}

print.pg_result <- function(x, ...) {
  facts <- c(list_numbers(x), list_sources(x))
  cat(x$question, "\n", sep = "")
  width <- max(nchar(names(facts)))
  for (name in names(facts)) cat("  ", formatC(name, width = -width), "  ", facts[[name]], "\n", sep = "")
  invisible(x)
}

list_numbers <- function(x) {
  range <- function(ends) {
    ends <- ends_of(ends)
    if (!anyNA(ends)) paste(short(ends[1], 6), "to", short(ends[2], 6))
  }
  c(
    value = if (!is.null(x$value)) short(x$value, 6),
    "no value" = x$no_value,
    "positive class" = if (!is.null(x$positive_class)) as.character(x$positive_class),
    "95 %" = range(x$interval),
    certainly = range(x$bracket),
    "value of all rows, 95 %" = range(x$gossip_interval),
    p = if (!is.null(x[["p"]])) format.pval(x[["p"]], digits = 4),
    "p certainly" = range(x$p_bracket),
    noise = if (!is.null(x$noise)) paste("epsilon", x$noise$epsilon),
    model = if (!is.null(x$model)) paste(short(x$model, 6), collapse = ", ")
  )
}

list_sources <- function(x) {
  signed <- if (isTRUE(x$is_own)) {
    "this peer's own estimate: nobody has signed it"
  } else {
    paste("all", length(x$signed_by), "members have signed this")
  }
  c(members = group_digits(count_members(x)), rows = group_digits(x$rows), signatures = signed)
}
