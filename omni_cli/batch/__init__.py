"""``omni run-batch``: a file of requests, against a server or on engines of its own."""
