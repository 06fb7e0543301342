# pg_result and pg_verify: the answer to a question of a study.

# The answer to a question of a study.
pg_result <- function(number = NULL, home = NULL) {
  file <- tempfile("pairgossip-", fileext = ".json")
  on.exit(unlink(file))
  number <- if (!is.null(number)) as.character(number)
  home <- if (!is.null(home)) path.expand(home)
  written <- spell_options(list(json = file, home = home))
  suppressMessages(run_command(c("peer", "result", number, written), NULL))
  if (is_own(file)) read_own(file) else pg_verify(file)
}

# Check a signed result.
pg_verify <- function(file) new_result(run_json(c("verify", path.expand(file), "--json")))

new_result <- function(found) {
  found$specification <- jsonlite::fromJSON(found$specification)
  structure(found, class = "pg_result")
}

# Where rows travel, each member has an estimate of its own, which nobody signs.
is_own <- function(file) "peer" %in% names(jsonlite::fromJSON(file, simplifyVector = FALSE))

read_own <- function(file) {
  own <- jsonlite::fromJSON(file)
  specification <- jsonlite::fromJSON(own$specification)
  has_value <- length(own$estimate) == 1 && is.null(specification$loss)
  facts <- list(
    question = describe_question(specification),
    value = if (has_value) own$estimate,
    no_value = explain_own(own, has_value),
    model = if (!has_value) own$estimate,
    interval = own$sampling_interval,
    gossip_interval = own$gossip_interval,
    rows = own$rows,
    is_own = TRUE
  )
  others <- own[setdiff(names(own), c(names(facts), "specification"))]
  structure(
    c(Filter(Negate(is.null), facts), others, list(specification = specification)),
    class = "pg_result"
  )
}

explain_own <- function(own, has_value) {
  if (has_value) return(NULL)
  if (is.null(own$estimate)) "the peer has exchanged no rows yet" else "it is a model"
}

describe_question <- function(specification) {
  asked <- c(specification$kernel, specification$loss)[1]
  paste(asked, "of", paste(specification$columns, collapse = ", "))
}
