# The command line: where it is, and how it is run.

# The words that name the command: the program, and the arguments that come before all others; and
# where they are set, in words.
name_command <- function() {
  words <- getOption("pairgossip.command")
  if (!is.null(words)) return(list(words = words, place = "options(pairgossip.command)"))
  word <- Sys.getenv("PAIRGOSSIP")
  if (nzchar(word)) return(list(words = word, place = "the environment variable PAIRGOSSIP"))
  list(words = "pairgossip", place = NULL)
}

find_program <- function(word) unname(Sys.which(path.expand(word)))

pg_command <- function() {
  named <- name_command()
  program <- find_program(named$words[1])
  if (!nzchar(program)) refuse(explain_missing(named$words[1], named$place))
  c(program, named$words[-1])
}

pg_available <- function() nzchar(find_program(name_command()$words[1]))

explain_missing <- function(word, place) {
  if (is.null(place)) {
    return(paste0(
      "There is no command 'pairgossip' here: install the Python package with 'pip install .' in ",
      "a clone of its repository, or name the command with options(pairgossip.command = \"...\")."
    ))
  }
  paste0("The command '", word, "' does not exist: change ", place, ".")
}

refuse <- function(sentence) {
  stop(structure(
    class = c("pg_error", "error", "condition"),
    list(message = sentence, call = NULL)
  ))
}

# Run a command, and return the list that is in the JSON that it prints. What it says becomes
# messages, warnings and errors, in the words of R that `translate` makes of them.
run_json <- function(words, translate = identity) {
  out <- tempfile("pairgossip-", fileext = ".json")
  on.exit(unlink(out))
  run_command(words, out, translate)
  jsonlite::fromJSON(out, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
}

run_command <- function(words, out, translate = identity) {
  command <- pg_command()
  done <- processx::run(
    command[1], c(command[-1], words),
    error_on_status = FALSE, stdout = out, encoding = "UTF-8",
    env = c("current", PYTHONUTF8 = "1", NO_COLOR = "1")
  )
  tell(translate(done$stderr), done$status)
}

# What the command says about rows and options, in words of R. `file` was written from a data frame.
translate_to_r <- function(text, file = NULL) {
  text <- name_arguments(text)
  # The name of a temporary file means nothing to anybody.
  if (is.null(file)) return(text)
  text <- gsub(paste0("Error: ", file), "Error: The data", text, fixed = TRUE)
  number_rows(gsub(file, "the data", text, fixed = TRUE))
}

# Options are arguments here, unless they are part of a command to type.
name_arguments <- function(text) {
  text <- gsub("--missing drop", "missing = \"drop\"", text, fixed = TRUE)
  text <- gsub("--positive ([^\n]+), or the other", "positive = \"\\1\", or the other", text)
  option <- "(?<!exact |test |validate )--[a-z]+(-[a-z]+)*"
  replace_all(text, option, function(found) gsub("-", "_", sub("--", "", found), fixed = TRUE))
}

# Line 2 of a file is row 1 of the data frame, because line 1 has the names of columns.
number_rows <- function(text) {
  lines <- "(?<!')\\blines? [0-9]+((, | and )[0-9]++(?! more))*"
  replace_all(text, lines, function(found) {
    found <- sub("line", "row", found, fixed = TRUE)
    replace_all(found, "[0-9]+", function(number) as.character(as.integer(number) - 1L))
  })
}

replace_all <- function(text, pattern, change) {
  places <- gregexpr(pattern, text, perl = TRUE)
  regmatches(text, places) <- lapply(regmatches(text, places), change)
  text
}

tell <- function(text, status) {
  lines <- strsplit(text, "\r?\n")[[1]]
  lines <- lines[nzchar(trimws(lines))]
  is_error <- startsWith(lines, "Error: ")
  is_warning <- startsWith(lines, "Warning: ")
  if (status != 0) {
    said <- if (any(is_error)) sub("^Error: ", "", lines[is_error]) else utils::tail(lines, 3)
    if (length(said) == 0) said <- paste0("pairgossip ended with status ", status, ".")
    refuse(paste(said, collapse = "\n"))
  }
  for (line in sub("^Warning: ", "", lines[is_warning])) warning(line, call. = FALSE)
  for (line in lines[!is_warning & !is_error]) message(line)
}

