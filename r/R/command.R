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
# messages, warnings and errors; `data` is what they call the file of a data frame.
run_json <- function(words, data = NULL) {
  out <- tempfile("pairgossip-", fileext = ".json")
  on.exit(unlink(out))
  run_command(words, out, data)
  jsonlite::fromJSON(out, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
}

run_command <- function(words, out, data = NULL) {
  command <- pg_command()
  done <- processx::run(
    command[1], c(command[-1], words),
    error_on_status = FALSE, stdout = out, encoding = "UTF-8",
    env = c("current", PYTHONUTF8 = "1", NO_COLOR = "1")
  )
  tell(spell_data(done$stderr, data), done$status)
}

# The name of a temporary file means nothing to anybody.
spell_data <- function(text, data) {
  if (is.null(data)) text else gsub(data, "the data", text, fixed = TRUE)
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

