"""Who may reach a Dask cluster, and by what a cluster and this process know each other."""

from __future__ import annotations

import logging
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from renderer.errors import UsageError
from renderer.settings.setting import LOCAL

if TYPE_CHECKING:
    from distributed import Client, Security

    from renderer.settings.picture import Settings

INSTALL = "Dask or cryptography is not installed; pip install 'tracecore[cluster]'"

#: Protocols of Dask's that have TLS.
WITH_TLS = ("tls", "wss")

log = logging.getLogger(__name__)


class Certificates(NamedTuple):
    """Names the PEM files by which a cluster and this process know each other; None for what Dask's configuration says.

    ca: certificate of the authority that has signed all of them.
    cert: that is shown to the scheduler.
    key: of it.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Certificates:
        """Returns those of the settings."""
        return cls(settings.tls_ca, settings.tls_cert, settings.tls_key)

    def check(self, address: str) -> None:
        """Raises `UsageError` where a cluster at an address would not use them, or a file is missing."""
        for name, path in self._asdict().items():
            if path is not None and address.partition("://")[0] not in WITH_TLS:
                raise UsageError(
                    f"--tls-{name} is for a cluster with TLS, and --cluster {address} has none; take tls://"
                )
            if path is not None and not path.is_file():
                raise UsageError(f"cannot read --tls-{name} '{path}': there is no such file")

    def security(self) -> Security | None:
        """Returns them as Dask takes them; None where its configuration has them."""
        from distributed import Security

        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        given = {name: str(path) for name, path in zip(names, self, strict=True) if path is not None}
        return Security(require_encryption=True, **given) if given else None


#: Dask's configuration has them, where it has any.
NO_CERTIFICATES = Certificates()


def check_address(address: str, *, is_insecure: bool) -> None:
    """Tells of a cluster whose scheduler asks nobody who they are.

    address: as of `ClusterFleet`. is_insecure: whether the user has said that this is meant.
    Raises `UsageError` where anybody may be on the way to it, unless it is meant so.
    """
    protocol, _, place = address.rpartition("://")
    if address.startswith(LOCAL) or protocol in WITH_TLS:
        return
    host = urlsplit(f"//{place}").hostname or ""
    if _is_loopback(host):
        log.info("note: other users of this host who reach %s can run code as you; tls:// keeps them out", address)
    elif is_insecure or _is_own(host):
        log.warning("note: whoever reaches %s, or is on the way to it, can run code here and there", address)
    else:
        raise UsageError(
            f"--cluster {address} has no TLS: whoever reaches it, or is on the way to it, can run code here and there; "
            "give it certificates and take tls:// (docs/several-gpus.md), or say --insecure-cluster where the network "
            "is yours alone"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_own(host: str) -> bool:
    """Returns whether a host is this one, by its name or by one of its addresses. Nobody on the network is asked."""
    try:
        import psutil  # Dask has it
    except ImportError as error:
        raise UsageError(INSTALL) from error

    own = {one.address.partition("%")[0] for addresses in psutil.net_if_addrs().values() for one in addresses}
    return host in own | {name.lower() for name in (socket.gethostname(), socket.getfqdn())}


def connected(address: str, security: Security | None, patience: float) -> Client:
    """Returns a client that has found its scheduler. One that has not is closed here: Dask's would do so where it is
    collected, and wait without end for a lock of its own where that is within another client's use of it.
    """
    from distributed import Client

    client = Client.__new__(Client)
    try:
        Client.__init__(client, address, timeout=patience, security=security)
    except BaseException:
        client.close()
        raise
    return client
