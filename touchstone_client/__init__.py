"""A client of Touchstone's REST API. `docs/api.md` shows the whole loop with it.

It needs httpx alone, and imports nothing of the application.
"""

from touchstone_client.client import Touchstone as Touchstone
from touchstone_client.http import ApiProblem as ApiProblem
from touchstone_client.http import WaitError as WaitError
