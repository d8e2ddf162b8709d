"""Evidence in object storage: an address goes to the session as it is, and no credential is written anywhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import markovlogic as mln
from markovlogic.cli.main import main as run
from markovlogic.grounding.backends import sessions

SECRET, KEY = "not-to-be-seen-anywhere", "key-not-to-be-seen"
LISTED = (
    '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{n}</KeyCount>{rows}</ListBucketResult>'
)
WHEN = "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag>"
ROW = "<Contents><Key>{key}</Key>" + WHEN + "<Size>{n}</Size></Contents>"


class Storage(BaseHTTPRequestHandler):
    """What reading needs of S3: one bucket, objects whole or in part, lists by prefix."""

    objects: dict[str, bytes]
    seen: list[str]

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        key = url.path.removeprefix("/bucket").lstrip("/")
        self.seen.append(self.headers.get("Authorization", ""))
        if not key:
            prefix = parse_qs(url.query).get("prefix", [""])[0]
            found = [(name, content) for name, content in self.objects.items() if name.startswith(prefix)]
            rows = "".join(ROW.format(key=name, n=len(content)) for name, content in found)
            return self._send(200, LISTED.format(n=len(found), rows=rows).encode())
        if key not in self.objects:
            return self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")
        content, wanted = self.objects[key], self.headers.get("Range")
        if wanted is None:
            return self._send(200, content)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        begin = int(first) if first else len(content) - int(last)
        end = min(int(last), len(content) - 1) if first and last else len(content) - 1
        return self._send(206, content[begin : end + 1], f"bytes {begin}-{end}/{len(content)}")

    def _send(self, status: int, content: bytes, part: str = "") -> None:
        self.send_response(status)
        headers = {"Content-Length": str(len(content)), "ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        for name, value in {**headers, **({"Content-Range": part} if part else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture
def storage() -> Iterator[tuple[str, type[Storage]]]:
    """The address of a server, and what it holds and has seen."""
    made = type("Own", (Storage,), {"objects": {}, "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", made
    server.shutdown()
    thread.join()
    server.server_close()


def parquet(rows: list[tuple[str, str]]) -> bytes:
    file = BytesIO()
    pq.write_table(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), file)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore")
def test_an_address_is_read_by_the_session(
    storage: tuple[str, type[Storage]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pysail", reason="pip install 'markovlogic[sail]'")
    address, held = storage
    held.objects |= {"friends/1.parquet": parquet([("Ann", "Bob")]), "friends/2.parquet": parquet([("Bob", "Cid")])}
    given = {"AWS_ENDPOINT": address, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    for name, value in {**given, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}.items():
        monkeypatch.setenv(name, value)
    rules = "Friends(person, person)\nSmokes(person)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n"
    (tmp_path / "m.mln").write_text(rules)
    with sessions.sail_server(2) as server:
        command = ["infer", str(tmp_path / "m.mln"), "-q", "Smokes", "--engine", "spark", "--spark-remote", server]
        out = str(tmp_path / "out.csv")
        told = ["-o", out, "--stats", str(tmp_path / "stats.json")]
        assert run([*command, "-e", "Friends=s3://bucket/friends/*.parquet", *told]) == 0
        assert run([*command, "-e", "Friends=s3://bucket/enemies/*.parquet", "-o", str(tmp_path / "none.csv")]) == 2
    assert held.seen and all(KEY in header for header in held.seen)  # signed requests: the session has read it
    rows = [line.split(",")[:2] for line in Path(out).read_text().splitlines()[1:]]
    here = mln.infer(mln.Model.parse(rules), {"Friends": {"a": ["Ann", "Bob"], "b": ["Bob", "Cid"]}}, ["Smokes"], progress=False)
    assert [float(p) for _, p in rows] == pytest.approx(here.probability.tolist(), abs=1e-12)
    captured = capfd.readouterr()
    written = [captured.out, captured.err, *(path.read_text() for path in tmp_path.iterdir() if path.is_file())]
    assert "s3://bucket/enemies" in captured.err
    assert not any(secret in text for secret in (SECRET, KEY) for text in written)
