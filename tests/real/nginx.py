"""nginx in front of partners and of a postback application, with the logs that the guide of the format recommends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.real.client import free_port
from tests.real.process import Server, program

CONNECT_TIMEOUT_MS = 300
# Long enough for a partner on a busy machine.
READ_TIMEOUT_MS = 1000
LONG_READ_TIMEOUT_MS = 8000

GUIDE = REPOSITORY / "ingest" / "formats" / "guides" / "nginx.md"
# The short names of a log that is read by people; `ts` is the caller's own timestamp.
SHORT_POSTBACK = (
    '[$time_local] req="$request" status=$status rt=$request_time urt="$upstream_response_time" us="$upstream_status" '
    "limit_req_status=$limit_req_status key=$http_x_api_key oid=$arg_order_id ts=$http_x_timestamp "
    "ra=$sent_http_retry_after"
)


@dataclass(frozen=True)
class Partner:
    """An upstream block: its servers in the order in which nginx tries them.

    The later ones are backups. With `gives_up` a server that failed once is out for a minute; a `patient` nginx waits
    for its answers longer than any caller does.
    """

    ports: Sequence[int]
    gives_up: bool = False
    patient: bool = False


class Nginx(Server):
    """A running nginx: `/PARTNER/bid` goes to the partner, `/api/` to the application."""

    def __init__(self, folder: Path, partners: Mapping[str, Partner], application: int) -> None:
        self.folder = folder
        folder.mkdir()
        port = free_port()
        configuration = folder / "nginx.conf"
        configuration.write_text(_configuration(folder, port, partners, application), encoding="utf-8")
        arguments = [program("nginx"), "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(configuration)]
        super().__init__(arguments, port, folder / "said.txt")

    @property
    def exchange_json(self) -> Path:
        """Calls to partners, a JSON object a line."""
        return self.folder / "exchange.jsonl"

    @property
    def exchange_pairs(self) -> Path:
        """The same calls as `name=value`."""
        return self.folder / "exchange.log"

    @property
    def postback_json(self) -> Path:
        """Postbacks, a JSON object a line."""
        return self.folder / "postback.jsonl"

    @property
    def postback_pairs(self) -> Path:
        """The same postbacks as `name=value`, under short names."""
        return self.folder / "postback.log"

    def complained(self, text: str) -> int:
        """Lines of the error log with a text: what nginx itself says of a failure."""
        return (self.folder / "error.log").read_text(encoding="utf-8").count(text)


def _configuration(folder: Path, port: int, partners: Mapping[str, Partner], application: int) -> str:
    upstreams = "\n".join(_upstream(name, partner) for name, partner in partners.items())
    locations = "\n".join(_location(name, partner) for name, partner in partners.items())
    exchange, postback = _log_formats()
    exchange_pairs = " ".join(f'{key}="{variable}"' for key, variable in json.loads(exchange).items())
    user = "user root;" if os.geteuid() == 0 else ""
    return f"""
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;

    log_format exchange_json escape=json '{exchange}';
    log_format exchange_pairs '{exchange_pairs}';
    log_format postback_json escape=json '{postback}';
    log_format postback_pairs '{SHORT_POSTBACK}';

    map $limit_req_status $own_retry_after {{ default ""; REJECTED 2; }}
    limit_req_zone $http_x_api_key zone=keys:1m rate=1r/m;
    limit_req_zone $http_x_source zone=sources:1m rate=1r/m;
    {upstreams}
    {_upstream("application", Partner([application, application]))}

    server {{
        listen 127.0.0.1:{port};
        access_log off;
        set $partner "";
        proxy_http_version 1.1;
        proxy_set_header Host $proxy_host;
        proxy_set_header Connection "";
        proxy_set_header X-Request-Id $request_id;
        proxy_connect_timeout {CONNECT_TIMEOUT_MS}ms;
        proxy_next_upstream error timeout http_502 http_503 non_idempotent;
        {locations}
        {_application(folder)}
    }}
}}
""".replace("@FOLDER@", str(folder))


def _log_formats() -> list[str]:
    """The formats that the guide gives, of calls and of postbacks: the texts between the quotes, joined."""
    statements = re.findall(r"log_format \w+ escape=json (.*?);\n", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return ["".join(re.findall(r"'([^']*)'", statement)) for statement in statements]


def _upstream(name: str, partner: Partner) -> str:
    options = "max_fails=1 fail_timeout=60s" if partner.gives_up else "max_fails=0"
    first, *others = partner.ports
    backup = "" if partner.gives_up else " backup"
    servers = [f"server 127.0.0.1:{first} {options};", *(f"server 127.0.0.1:{p} {options}{backup};" for p in others)]
    return f"upstream {name} {{ {' '.join(servers)} }}"


def _location(name: str, partner: Partner) -> str:
    timeout = LONG_READ_TIMEOUT_MS if partner.patient else READ_TIMEOUT_MS
    return f"""
        location = /{name}/bid {{
            access_log @FOLDER@/exchange.jsonl exchange_json;
            access_log @FOLDER@/exchange.log exchange_pairs;
            set $partner {name};
            limit_req zone=sources;
            proxy_read_timeout {timeout}ms;
            proxy_pass http://{name}/bid;
        }}"""


def _application(folder: Path) -> str:
    logs = f"""
            access_log {folder}/postback.jsonl postback_json;
            access_log {folder}/postback.log postback_pairs;
            limit_req zone=keys burst=4 nodelay;
            add_header Retry-After $own_retry_after always;"""
    return f"""
        location /api/v1/ {{{logs}
            limit_req_status 429;
            proxy_pass http://application;
        }}
        location /api/default/ {{{logs}
            proxy_pass http://application;
        }}"""
