"""How long a request takes on a machine that is so busy: the queue M/M/c (Kleinrock 1975, section 3.5).

Requests arrive at random and take one of `servers` cores for an exponential time; who finds none free waits in order.
Times of real requests vary less than exponential ones, so that quantiles are on the safe side; and two cores of one
processor aren't twice as quick as one.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq


def waiting_probability(load: float, servers: int) -> float:
    """The chance that a request finds all servers taken (Erlang's C formula).

    Parameters
    ----------
    load : float
        Arrivals a second times seconds of service: how many servers are at work on average.
    servers : int

    Returns
    -------
    float
        From 0 to 1; 1 where the load is more than the servers can do.

    Examples
    --------
    With one server, it is taken for the share of the time that it works:

    >>> waiting_probability(0.3, 1)
    0.3
    """
    if load >= servers:
        return 1.0
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def response_seconds(*, per_second: float, service: float, servers: int, quantile: float) -> float:
    """This quantile of the time from a request's arrival to its answer.

    Parameters
    ----------
    per_second : float
        Arrivals.
    service : float
        Seconds of a core that a request needs, on average.
    servers : int
        Cores.
    quantile : float
        Between 0 and 1.

    Returns
    -------
    float
        Seconds; infinite where more arrives than the servers can do.

    Examples
    --------
    On a machine that does nothing else, it's the quantile of the service time:

    >>> round(response_seconds(per_second=0, service=0.01, servers=2, quantile=0.99), 4)
    0.0461
    """
    load = per_second * service
    if load >= servers:
        return math.inf
    waits, spare = waiting_probability(load, servers), servers - load

    def still_there(t: float) -> float:
        """The chance that it takes longer than t, in units of the service time."""
        own = math.exp(-t)
        if abs(spare - 1) < 1e-9:
            return own * (1 + waits * t)
        return own * (1 + waits * (1 - math.exp(-t * (spare - 1))) / (spare - 1))

    most = 1.0
    while still_there(most) > 1 - quantile:
        most *= 2
    return service * float(brentq(lambda t: still_there(t) - (1 - quantile), 0, most))
