"""A study: one membership that stays, and the questions that its members ask of their rows.

`protocol` decides, without any input or output; `site` keeps what belongs to one member: its
folder, its rows, its policy and the record of what has left; `service` runs both as a process.
"""
