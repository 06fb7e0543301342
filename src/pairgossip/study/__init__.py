"""A study: a lasting membership, and the questions that its members ask about their rows.

`protocol` decides, without any input or output; `site` keeps the data of one member: its folder,
its rows, its policy and the record of disclosures; `service` runs both as a process.
"""
