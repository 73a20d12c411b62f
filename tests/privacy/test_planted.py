"""Secrets planted by people who had not seen the code, and look-alikes that are none.

Seven sets by seven people. The first six were looked at when the rules were mended, the last three of them after they had been
measured once (94, 82 and 93 of 100). The seventh was measured when the rules were done and not looked at (95 of 100; 93 before):
benchmarks/README.md says what each was worth when it was new. A file that is never read keeps its secret.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from contextd.privacy import scrub
from contextd.sources.filetypes import language_of, never_read

ITEMS = Path(__file__).parent / "items"


def missed(name: str) -> tuple[list[str], int]:
    """The names of files whose secret is still in them, and how many files there are."""
    items = json.loads((ITEMS / f"{name}-planted.json").read_text("utf-8"))
    found = []
    for item in items:
        secret = base64.b64decode(item["secret"])
        data = item["text"].encode().replace("«1»".encode(), secret)
        clean, _ = scrub(data, language_of(item["path"]), path=item["path"])
        lines = [line.strip() for line in secret.split(b"\n") if len(line.strip()) > 20] or [secret]
        if any(line in clean for line in lines) and not never_read(item["path"]):
            found.append(item["name"])
        assert clean.count(b"\n") == data.count(b"\n")
    return found, len(items)


@pytest.mark.parametrize("name", ["development", "unseen", "final", "last", "fifth", "sixth", "seventh"])
def test_S1_S2_of_a_hundred_planted_secrets_ninety_five_are_found(name: str) -> None:
    lost, total = missed(name)
    assert len(lost) <= total * 0.05, lost


@pytest.mark.parametrize("name", ["development", "unseen", "final", "last", "fifth", "sixth", "seventh"])
def test_S3_look_alikes_stay_readable(name: str) -> None:
    items = json.loads((ITEMS / f"{name}-harmless.json").read_text("utf-8"))
    finds = [(item["name"], scrub(item["text"].encode(), language_of(item["path"]), path=item["path"])[1]) for item in items]
    false = [(item, find) for item, several in finds for find in several]
    assert len(false) <= 3, false


@pytest.mark.parametrize(
    ("language", "line", "secret"),
    [
        ("python", 'password = "super_secret_123"', "super_secret_123"),
        ("yaml", 'password: "super_secret_123"', "super_secret_123"),
        ("properties", "spring.datasource.password=Herbst!Laub", "Herbst!Laub"),
        ("java", 'String url = "jdbc:sqlserver://db;user=sa;password=Tango&Foxtrot9;"', "Tango&Foxtrot9"),
        ("csharp", '"Server=db;Database=app;User Id=sa;Password=qW9#xT2!;"', "qW9#xT2!"),
        ("shell", "PGPASSWORD=Zugspitze2962 psql -h db", "Zugspitze2962"),
        (
            "python",
            "SECRET_KEY = 'zh!=!gq(w^_t[sBR29954x)HI+$ehwss*xYNQeu([xcWMhdzzr'",
            "zh!=!gq(w^_t[sBR29954x)HI+$ehwss*xYNQeu([xcWMhdzzr",
        ),
        (
            "php",
            "define('AUTH_SALT', 'Ed&1cr+{3T$a+{[8LP~i5-[|Z`x-V>;Di_C/E~UnSg{n[h#{D[-t>yIUZ8YqSu3t');",
            "Ed&1cr+{3T$a+{[8LP~i5-[",
        ),
        ("json", '"password": "x!7Kq@Lm#9Zt$2Wv"', "x!7Kq@Lm#9Zt$2Wv"),
        ("yaml", "api_token: qhdkzvwmxnbtjrplfgcs", "qhdkzvwmxnbtjrplfgcs"),
        ("json", '"access_token": "ya29.a0AfH6SMBx7Kq2Lm9Zt5Wv1Yn8Rc4Tb6"', "a0AfH6SMBx7Kq2Lm9Zt5Wv1Yn8Rc4Tb6"),
        ("sql", "(1, 'ana', '$2y$12$s.YfVZdfvAuO/Iz6fte5iO..ZbbEgreZnDcYOGvX4NGJskYQIstcG', 1)", "YfVZdfvAuO"),
        ("xml", "<Pass>ExamplePas123</Pass>", "ExamplePas123"),
        ("json", '"pass": "hunter22"', "hunter22"),
        ("yaml", "kind: Secret\ndata:\n  anything: aHVudGVyMjJodW50ZXI=", "aHVudGVyMjJodW50ZXI="),
        ("yaml", "  - name: DB_PASSWORD\n    value: Herbst2024x", "Herbst2024x"),
        ("xml", '<add key="DbPassword" value="Herbst2024x" />', "Herbst2024x"),
        ("hcl", 'variable "db_password" {\n  default = "Herbst2024x"\n}', "Herbst2024x"),
        ("dockerfile", "ENV DB_PASSWORD Herbst2024x", "Herbst2024x"),
        ("ini", "_auth = YWRtaW46YWRtaW4=", "YWRtaW46YWRtaW4="),
        ("python", 'password = """\nHerbst2024x\n"""', "Herbst2024x"),
        ("json", '{"body": "{\\"password\\": \\"Herbst2024x\\"}"}', "Herbst2024x"),
        ("markdown", "The admin password is `Herbst2024x`.", "Herbst2024x"),
        ("", "user,password\nana,Herbst2024x", "Herbst2024x"),
        ("text", "2024-01-01 login failed password=Herbst2024x host=db", "Herbst2024x"),
        (
            "http",
            "Authorization: SSWS 00fx9u7IspIO366c0poBq3wArrCzg5TeZvrUTetB5w",
            "00fx9u7IspIO366c0poBq3wArrCzg5TeZvrUTetB5w",
        ),
        ("http", "Authorization: Basic deploy Kx9!vartan", "Kx9!vartan"),
        ("python", 's.cookies.set("sessionid", "ev84clahcz4sysh9tlu470irbhv16vfu")', "ev84clahcz4sysh9tlu470irbhv16vfu"),
        ("rust", 'opts.set_credentials("gateway", "sensor-Myren-4410");', "sensor-Myren-4410"),
        ("go", 'auth := sasl.NewPlainClient("", "mailer", "Vinter-vaka-12")', "Vinter-vaka-12"),
        ("", "radius-server host 10.10.0.5 auth-port 1812 key R4d1us-Stamnet", "R4d1us-Stamnet"),
        ("", "username admin privilege 15 secret R4d1us-Stamnet", "R4d1us-Stamnet"),
        ("markdown", "Log in as `h.admin` with the password Blåbär-tårta-9 now.", "Blåbär-tårta-9"),
        ("text", "Melde dich mit dem Passwort Kirsch-kuchen-31 an.", "Kirsch-kuchen-31"),
        ("text", "Your temporary password:\n\n    Vinter-vaka-12\n\nPlease change it.", "Vinter-vaka-12"),
        ("text", "[10:05] tobias: root / qnapQNAP!2014x", "qnapQNAP!2014x"),
        ("markdown", "| nas | root | Torsk-lever-77 |", "Torsk-lever-77"),
        ("", '-DB_PASS = "isbjorn_Svalbard"', "isbjorn_Svalbard"),
        ("", "[smtp.norrland.se]:587 mailer@norrland.se:Vinter-vaka-12", "Vinter-vaka-12"),
        ("", "<auth-user-pass>\nhanna\nVinter-vaka-12\n</auth-user-pass>", "Vinter-vaka-12"),
        ("shell", "mount -t cifs //nas/s /mnt -o username=backup,password=Vinter-vaka-12", "Vinter-vaka-12"),
        ("shell", "nmcli device wifi connect Norr password Vinter-vaka-12", "Vinter-vaka-12"),
        ("shell", "gh secret set DEPLOY_KEY --body D2sx4Ebrcm2UQBWT6eBg9trU1a", "D2sx4Ebrcm2UQBWT6eBg9trU1a"),
        ("xml", "<AdministratorPassword>\n  <Value>VgBpAG4AdABlAHIA</Value>\n</AdministratorPassword>", "VgBpAG4AdABlAHIA"),
        ("powershell", "New-LocalUser -Password (ConvertTo-SecureString 'vintervaka' -AsPlainText -Force)", "vintervaka"),
        ("markdown", "### Wi-Fi\n\nNetwork: Norr\nKey: Vinter-vaka-12", "Vinter-vaka-12"),
        ("text", "git clone https://f3Kq9Lm2Zt5Wv8Yn1Rc4@example.com/a.git", "f3Kq9Lm2Zt5Wv8Yn1Rc4"),
    ],
)
def test_S2_a_value_in_a_place_that_says_secret_is_one(language: str, line: str, secret: str) -> None:
    clean, finds = scrub(f"# first\n{line}\n".encode(), language, path="ops/settings")
    assert finds and secret.encode() not in clean, clean.decode()


def test_a_pattern_of_the_user_keeps_the_structure_of_the_line() -> None:
    from contextd.privacy import user_rules

    rules = user_rules([r"(ticket)='([0-9]{6})'", r"internal-[0-9]{6}", r"(acme|corp)-[0-9]{8}"])
    clean, _ = scrub(b"ticket='123456'; see internal-654321, acme-12345678\n", "", rules)
    assert clean == b"ticket='[REDACTED]'; see [REDACTED], [REDACTED]\n"


def test_what_the_user_allows_stays() -> None:
    from contextd.privacy import user_rules

    line = b'password = "Herbst2024x"\n'
    assert scrub(line, "python", path="src/a.py")[1]
    assert scrub(line, "python", user_rules((), ["Herbst[0-9]{4}x"]), path="src/a.py") == (line, [])
    assert scrub(line, "python", user_rules((), ["Herbst"]), path="src/a.py")[1], "a pattern covers the whole value"
    assert scrub(line, "python", user_rules((), ["path:src/*.py"]), path="src/a.py") == (line, [])
    marked = b'password = "Herbst2024x"  # contextd:allow\npassword = "Winter2024x"\n'
    assert (
        scrub(marked, "python", path="src/a.py")[0] == b'password = "Herbst2024x"  # contextd:allow\npassword = "[REDACTED]"\n'
    )
    assert scrub(marked, "python")[0].count(b"[REDACTED]") == 2, "only a line of a file can say so"


@pytest.mark.parametrize("path", ["tests/test_a.py", "docs/a.py", "examples/a.py", "src/a_test.go", "web/login.spec.ts"])
def test_in_tests_examples_and_docs_short_and_plain_values_stay_readable(path: str) -> None:
    language = language_of(path)
    for plain in ("swordfish", "hunter22", "correcthorsebattery"):
        line = f'password = "{plain}"\n'.encode()
        assert scrub(line, language, path=path) == (line, [])
        assert scrub(line, language, path="src/login." + path.rpartition(".")[2])[1]
    assert scrub(b'password = "Summer-2024-Rain"\n', language, path=path)[1]


def test_the_same_bytes_in_a_test_and_in_the_source_are_stored_apart(make_project: object, home: Path) -> None:
    from contextd.app.assemble import open_session

    text = 'def connect():\n    return dial(password="swordfish")\n'
    root = make_project({"src/db.py": text, "tests/test_db.py": text})  # type: ignore[operator]
    session = open_session(root, home=home, environment={})
    session.index()
    found = {hit.chunk.uri: hit.chunk.text for hit in session.search("connect dial", min_score=0).hits}
    assert "swordfish" in found["tests/test_db.py"] and "swordfish" not in found["src/db.py"]


def test_S6_the_time_is_linear_in_hostile_input() -> None:
    import time

    def seconds(data: bytes) -> float:
        began = time.process_time()
        scrub(data, "", path="a.txt")
        return time.process_time() - began

    for unit in (b"password=", b'password = "x1y2z3w4"\n', b'token="', b"<password ", b"-----BEGIN PRIVATE KEY-----\n",
                 b"insert into t (password) values (", b"user,password,token\n", b"kind: Secret\ndata:\n", b'variable "password" {\n',
                 b"password for the a b c d ", b"https://a:", b"eyJ", b"name: password\n", b'password="', b'login("a", ', b"login(", b"mysql -p ", b'"curl", ', b"random_password ",
                 b"password =\n", b"password: (\n  # a\n", b"basic ", b"<key>password</key>", b'value="a" name="password" ', b"key = {1,"):  # fmt: skip
        once, twice = unit * (30_000 // len(unit)), unit * (60_000 // len(unit))
        tries = (seconds(twice) / max(seconds(once), 1e-3) for _ in range(4))
        assert any(ratio <= 2.5 for ratio in tries), unit
