"""Keeps a client's mistake out of the server's log.

Where upstream's routes make the answer to an exception themselves, they log it with its traceback
first, whoever's fault it is. A client could fill the log that way.
"""

from __future__ import annotations

import logging

from vllm.entrypoints.anthropic.api_router import logger as messages_logger
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response

__all__ = ["leave_out_client_faults"]

# Cohere's routes do it too, but are not offered.
_LOGGERS = (messages_logger,)


class _ClientFaults(logging.Filter):
    """Lets a record through unless its exception is answered with a 4xx; at debug level all."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, Exception):
            return True
        if logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        return int(create_error_response(error).error.code) >= 500


_FILTER = _ClientFaults()


def leave_out_client_faults() -> None:
    """From now on, in this process; calling it again changes nothing."""
    for logger in _LOGGERS:
        logger.addFilter(_FILTER)
