"""Controls: the same question asked again with one thing changed, as rows of the question table.

A control has the id of its question and another ``variant``, which ends in ``;control=NAME``.  Nothing here knows a
task; what only a task knows (how its text names a side, what a mirror does to its truth) is in the task's ``vary``.
"""
