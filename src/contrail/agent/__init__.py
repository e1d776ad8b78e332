"""The node agent: prepares, launches, captures, samples, relays and spools for one node of one attempt.

`python -m contrail.agent <work_dir>` reads `<work_dir>/spec.json` and outlives the server. Whatever the
workload says (output, metrics, artifacts, its exit) goes into a spool on this node's disk first and to the
server from there, so an absent server costs the training nothing and loses nothing.
"""
