# What R is given, as words of a command line: options by name, and data as files.

# Options by their names here, with NULL left out: `group_by = "ward"` is --group-by=ward.
spell_options <- function(options) {
  names <- names(options)
  if (length(options) > 0 && (is.null(names) || any(!nzchar(names)))) {
    refuse("Options have names: write them as in by = \"sex\".")
  }
  unlist(Map(spell_option, as.character(names), options), use.names = FALSE)
}

spell_option <- function(name, value) {
  option <- paste0("--", gsub("_", "-", name, fixed = TRUE))
  if (is.null(value) || identical(value, FALSE)) return(NULL)
  if (isTRUE(value)) return(option)
  if (!is.atomic(value) || anyNA(value)) {
    refuse(paste0("Option ", name, " is text, a number, TRUE or FALSE."))
  }
  paste0(option, "=", if (is.numeric(value)) spell_numbers(value) else as.character(value))
}

# The fewest digits that are the same number when they are read again.
spell_numbers <- function(x) {
  text <- as.character(x) # of NA, NaN and Inf
  is_number <- is.finite(x)
  numbers <- x[is_number]
  short <- formatC(numbers, digits = 15, format = "g", width = 1)
  is_cut <- as.numeric(short) != numbers
  short[is_cut] <- formatC(numbers[is_cut], digits = 17, format = "g", width = 1)
  text[is_number] <- short
  text
}

# The files of rows: paths as they are, or one that is written from a data frame. `options` are
# those that name columns, so that no other column is written.
write_rows <- function(data, options) {
  if (is.character(data) && is.null(dim(data))) {
    return(list(files = path.expand(data), made = NULL, options = options))
  }
  if (!is.data.frame(data) && !is.matrix(data)) {
    refuse("Data are a data frame, a matrix with column names, or paths of files.")
  }
  if (is.null(colnames(data))) refuse("The matrix has no column names: give it colnames.")
  if (nrow(data) == 0) refuse("The data have no rows.")
  data <- as.data.frame(data, stringsAsFactors = FALSE)
  options <- declare_classes(data, options)
  file <- tempfile("pairgossip-", fileext = ".csv")
  write_csv(choose_columns(data, options), file)
  list(files = file, made = file, options = options)
}

COLUMNS <- c("column", "label", "weight", "within", "between", "by", "group_by")

choose_columns <- function(data, options) {
  if (is.null(options$column)) return(data)
  named <- unlist(options[intersect(COLUMNS, names(options))], use.names = FALSE)
  whole <- named %in% names(data)
  named <- unique(c(named[whole], trimws(unlist(strsplit(named[!whole], ",")))))
  # The command line knows what else a misspelled name may mean.
  if (all(named %in% names(data))) data[named] else data
}

# The levels of a factor are an order of classes, from the lowest to the highest.
declare_classes <- function(data, options) {
  label <- options$label
  if (is.null(label) || !is.null(options$classes) || !is.null(options$positive)) return(options)
  labels <- if (length(label) == 1 && label %in% names(data)) data[[label]]
  if (!is.factor(labels)) return(options)
  classes <- levels(droplevels(labels))
  is_ordered <- is.ordered(labels) || length(classes) == 2
  if (is_ordered && !any(grepl(",", classes, fixed = TRUE))) {
    options$classes <- paste(classes, collapse = ",")
  }
  options
}

write_csv <- function(data, file) {
  is_text <- vapply(data, function(x) is.character(x) || is.factor(x), logical(1))
  data[] <- Map(spell_column, data, names(data))
  connection <- file(file, "w", encoding = "UTF-8")
  on.exit(close(connection))
  # write.table quotes names only where it quotes a column. What is missing is NA: a line with
  # nothing in it would be no row.
  writeLines(paste(quote_names(names(data)), collapse = ","), connection)
  utils::write.table(
    data, connection, sep = ",", row.names = FALSE, col.names = FALSE,
    quote = which(is_text), qmethod = "double"
  )
}

quote_names <- function(names) paste0("\"", gsub("\"", "\"\"", names, fixed = TRUE), "\"")

spell_column <- function(x, name) {
  if (is.list(x) || !is.null(dim(x))) {
    refuse(paste0("Column '", name, "' holds more than one value in a row: leave it out."))
  }
  if (is.logical(x)) return(as.integer(x))
  if (is.double(x) && !is.object(x)) return(spell_numbers(x))
  enc2utf8(as.character(x))
}
