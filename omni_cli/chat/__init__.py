"""``omni chat``: the client, the conversation, and how an answer reaches the screen."""
