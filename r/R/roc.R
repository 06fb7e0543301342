# pg_roc: the curve as a data frame, and its picture.

# ROC curve.
pg_roc <- function(data, column = NULL, label = NULL, ..., thresholds = NULL, interval = 0.95) {
  asked <- list(column = column, label = label, thresholds = thresholds, interval = interval)
  found <- ask_rows("validate", data, c(asked, list(...), list(curve = TRUE)))
  new_roc(found)
}

new_roc <- function(found) {
  curve <- found$curve
  points <- as.data.frame(lapply(curve$points, as.double))
  points$threshold[1] <- Inf # which JSON cannot hold
  found$curve <- NULL
  structure(
    points,
    class = c("pg_roc", "data.frame"),
    validation = found, band = curve$band, certain = curve$certain
  )
}

as.data.frame.pg_roc <- function(x, ...) {
  for (name in c("validation", "band", "certain")) attr(x, name) <- NULL
  class(x) <- "data.frame"
  x
}

print.pg_roc <- function(x, n = 6, ...) {
  found <- attr(x, "validation")
  if (!is.null(found)) {
    negatives <- found$rows - found$positives
    positive <- if (is.null(found$positive)) "" else paste0(" (", found$positive, ")")
    cat(
      "ROC curve of ", group_digits(found$positives), " positive rows", positive, " and ",
      group_digits(negatives), " negative: AUC ",
      format_answer(found$discrimination$auc, found$level), "\n", sep = ""
    )
  }
  shown <- as.data.frame(x)[intersect(c("threshold", "fpr", "tpr", "precision"), names(x))]
  print(utils::head(shown, n), row.names = FALSE, digits = 4)
  if (nrow(x) > n) cat("... and", group_digits(nrow(x) - n), "more thresholds\n")
  invisible(x)
}

plot.pg_roc <- function(x, ...) {
  picture <- autoplot.pg_roc(x, ...)
  print(picture)
  invisible(picture)
}

autoplot.pg_roc <- function(object, band = TRUE, ...) {
  if (!requireNamespace("ggplot2", quietly = TRUE)) {
    refuse("A picture needs the package ggplot2: install.packages(\"ggplot2\").")
  }
  color <- "#1f5fa8"
  regions <- list(
    if (band) draw_region(attr(object, "band"), color, 0.15),
    draw_region(attr(object, "certain"), color, 0.35)
  )
  points <- as.data.frame(object)
  ggplot2::ggplot(points, ggplot2::aes(.data[["fpr"]], .data[["tpr"]])) +
    ggplot2::geom_abline(linetype = "dashed", color = "grey60") +
    Filter(Negate(is.null), regions) +
    ggplot2::geom_path(color = color) +
    ggplot2::geom_point(data = list_agreed(object), color = color) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = "1 - specificity", y = "sensitivity", subtitle = describe_roc(object, band))
}

# The region between two paths from the lower left to the upper right.
draw_region <- function(region, color, opacity) {
  if (is.null(region)) return(NULL)
  outline <- data.frame(
    fpr = c(region$lower$fpr, rev(region$upper$fpr)),
    tpr = c(region$lower$tpr, rev(region$upper$tpr))
  )
  ggplot2::geom_polygon(data = outline, fill = color, alpha = opacity)
}

# The points of the curve at the thresholds that were agreed on.
list_agreed <- function(object) {
  points <- attr(object, "validation")$thresholds
  read <- function(name) vapply(points, function(one) or_na(one[[name]]$value), double(1))
  data.frame(fpr = 1 - read("specificity"), tpr = read("sensitivity"))
}

describe_roc <- function(object, band) {
  found <- attr(object, "validation")
  if (is.null(found)) return(NULL)
  drawn <- if (band) sprintf("\n%g %% band for the population's curve", 100 * found$level)
  paste0("AUC ", format_answer(found$discrimination$auc, found$level), drawn)
}
