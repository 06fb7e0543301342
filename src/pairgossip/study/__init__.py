"""A study: a lasting membership, and the questions that its members ask about their rows.

`protocol` decides, without any input or output; `storage` keeps the folder of one member; `site`
answers questions from its rows and its policy; `rows` lets rows travel; `service` runs all of it as
a process.
"""
