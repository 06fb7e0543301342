test_that("a signed result is read and checked", {
  need_command()
  found <- pg_verify(test_path("result.json"))
  signed <- jsonlite::fromJSON(test_path("result.json"))
  expect_identical(found$value, signed$result$value)
  expect_identical(as.double(found$bracket), signed$result$bracket)
  expect_identical(found$specification$kernel, "gini")
  frame <- as.data.frame(found)
  expect_identical(frame$rows, as.double(sum(unlist(found$members))))
  expect_identical(frame$members, length(found$signed_by))
  expect_output(print(found), "members have signed this")
})

test_that("an altered result is an error", {
  need_command()
  text <- readLines(test_path("result.json"), warn = FALSE)
  value <- jsonlite::fromJSON(test_path("result.json"))$result$value
  file <- tempfile(fileext = ".json")
  on.exit(unlink(file))
  writeLines(sub(format(value, digits = 15), "0.5", text, fixed = TRUE), file)
  expect_error(pg_verify(file), "was altered", class = "pg_error")
  expect_error(pg_verify("no.json"), "There is no file", class = "pg_error")
})

test_that("the reason why there is no value is shown", {
  found <- structure(
    list(question = "auc of x", value = NULL, no_value = "there is no table", members = list(a = 3),
         rows = 3, signed_by = list(a = "one")),
    class = "pg_result"
  )
  expect_output(print(found), "no value +there is no table")
  expect_true(is.na(as.data.frame(found)$value))
})

test_that("an estimate of a peer's own is told from a signed one", {
  file <- tempfile(fileext = ".json")
  on.exit(unlink(file))
  own <- list(
    peer = "north", estimate = 0.7, gossip_interval = c(0.6, 0.8), sampling_interval = NULL,
    exchanges = 12, met = 2, members = 3, rows = 200, is_final = FALSE,
    specification = "{\"kernel\":\"auc\",\"columns\":[\"risk\"]}"
  )
  writeLines(jsonlite::toJSON(own, auto_unbox = TRUE, null = "null"), file)
  expect_true(is_own(file))
  found <- read_own(file)
  expect_identical(found$value, 0.7)
  expect_output(print(found), "nobody has signed it")
  expect_identical(as.data.frame(found)$members, 3L)
  own["estimate"] <- list(NULL)
  writeLines(jsonlite::toJSON(own, auto_unbox = TRUE, null = "null"), file)
  expect_match(read_own(file)$no_value, "no rows yet")
})

test_that("an answer is read in the folder of a peer", {
  need_command()
  expect_error(pg_result(1, home = tempdir()), class = "pg_error")
  home <- Sys.getenv("PAIRGOSSIP_R_HOME")
  skip_if_not(nzchar(home), "no folder of a peer is given")
  found <- pg_result(1, home = home)
  expect_true(found$bracket[1] <= found$value && found$value <= found$bracket[2])
  expect_gte(length(found$signed_by), 3)
  expect_identical(pg_result(home = home)$value, found$value)
})
