"""``omni complete``: a prompt, and the text that a served model goes on with."""
