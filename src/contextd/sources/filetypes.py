"""File types: the language by name, whether bytes are text, and which files are never read."""

from __future__ import annotations

import re
from fnmatch import translate

_EXTENSIONS: dict[str, str] = {
    extension: language
    for language, extensions in {
        "python": "py pyi pyw pyx",
        "javascript": "js mjs cjs jsx",
        "typescript": "ts mts cts",
        "tsx": "tsx",
        "kotlin": "kt kts",
        "java": "java",
        "go": "go",
        "rust": "rs",
        "c": "c h",
        "cpp": "cc cpp cxx hh hpp hxx ipp inl cu cuh",
        "csharp": "cs csx",
        "ruby": "rb rake gemspec",
        "php": "php phtml",
        "swift": "swift",
        "scala": "scala sc sbt",
        "shell": "sh bash zsh ksh bats",
        "lua": "lua",
        "elixir": "ex exs",
        "zig": "zig zon",
        "haskell": "hs",
        "markdown": "md markdown mdx mkd",
        "rst": "rst rest",
        "asciidoc": "adoc asciidoc asc",
        "text": "txt text log",
        "yaml": "yaml yml",
        "toml": "toml",
        "json": "json jsonc json5 webmanifest",
        "sql": "sql ddl",
        "html": "html htm xhtml vue svelte",
        "pdf": "pdf",
        "docx": "docx",
        "notebook": "ipynb",
        "css": "css scss sass less",
        "xml": "xml xsd xsl svg plist csproj props targets",
        "ini": "ini cfg conf editorconfig desktop service",
        "properties": "properties",
        "hcl": "tf tfvars hcl",
        "gettext": "po pot",
    }.items()
    for extension in extensions.split()
}
_NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake",
    "go.mod": "go.mod",
    "readme": "text",
    "license": "text",
    "changelog": "text",
    ".bashrc": "shell",
    ".profile": "shell",
    ".zshrc": "shell",
    ".npmrc": "ini",
    ".gitconfig": "ini",
}
_INTERPRETERS = {"python": "python", "node": "javascript", "bash": "shell", "sh": "shell", "zsh": "shell", "ruby": "ruby",
                 "php": "php", "lua": "lua", "elixir": "elixir"}  # fmt: skip

# Files whose text has to be extracted; their bytes are not checked.
DOCUMENTS = frozenset({"pdf", "docx"})
BINARY = frozenset(
    "exe dll so dylib a o obj lib bin dat class jar war ear pyc pyo pyd whl egg wasm mo gmo jpg jpeg png gif bmp ico tif "
    "tiff webp heic psd ai mp3 mp4 m4a wav flac ogg avi mov mkv webm doc xls xlsx ppt pptx odt ods odp zip gz "
    "tgz bz2 xz zst 7z rar tar iso dmg deb rpm msi apk ipa ttf otf woff woff2 eot db sqlite sqlite3 duckdb parquet arrow "
    "npy npz pkl pickle h5 hdf5 onnx pt pth safetensors gguf mmdb shp shx dbf keystore jks".split()
)

# Never opened, whatever the configuration says: they exist to hold secrets.
_NEVER = (
    "*.private", "*.secret", ".env", ".env.*", "*.env", ".envrc", ".pypirc", ".s3cfg", ".my.cnf",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.ppk",
    ".netrc", "_netrc", ".pgpass", ".htpasswd", "*.jks", "*.keystore", "*.p12", "*.pfx", "*.kdbx", ".git-credentials",
    ".aws/credentials", ".docker/config.json", ".ssh/*", ".dockercfg", ".dockerconfigjson", ".kube/config", "kubeconfig",
    ".credentials", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", "gh/hosts.yml", ".config/hub",
    ".boto", ".tugboat", ".vault-token", "pgpass.conf", "htpasswd", ".htdigest", "etc/shadow", "etc/gshadow", "secring.*",
    "*.gpg", "*.ovpn", "*.tfstate*", "wallet.dat", ".password-store/*",
    "application_default_credentials.json",
    ".esmtprc", ".msmtprc", ".fetchmailrc", ".ftpconfig", ".remote-sync.json", "sftp-config.json", ".vscode/sftp.json",
    "filezilla.xml", "recentservers.xml", "sitemanager.xml", ".idea/webservers.xml", "robomongo.json",
    "dbeaver-data-sources*.xml", "logins.json", "key3.db", "key4.db", ".bash_history", ".zsh_history", ".psql_history",
    ".mysql_history", ".rediscli_history",
)  # fmt: skip
_HARMLESS = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")

_MAGIC = (b"\x7fELF", b"MZ\x90", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"%PDF", b"\x1f\x8b", b"BZh",
          b"\xfd7zXZ", b"SQLite format 3", b"\xca\xfe\xba\xbe", b"OggS", b"ID3", b"RIFF", b"\x28\xb5\x2f\xfd")  # fmt: skip
_HEAD = 8192
_CPP_WORDS = (b"namespace ", b"template <", b"template<", b"std::", b"public:", b"private:")


def never_read(path: str) -> bool:
    """Return whether a file is one that exists to hold secrets."""
    lowered = "/" + path.lower()
    return bool(_NEVER_PATTERN.search(lowered)) and not _HARMLESS_PATTERN.search(lowered)


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches any of the patterns at the end of a path."""
    return re.compile("|".join("/" + translate(pattern).replace(".*", "[^/]*") for pattern in patterns))


_NEVER_PATTERN, _HARMLESS_PATTERN = _any_of(_NEVER), _any_of(_HARMLESS)


def language_of(path: str) -> str:
    """Return the language by name alone; empty if the name is not enough."""
    name = path.rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("dockerfile"):
        return "dockerfile"
    return _EXTENSIONS.get(extension, _NAMES.get(stem, "")) if stem else ""


def language_by_content(path: str, data: bytes) -> str:
    """Return the language by name, or by the first bytes if they tell more."""
    language = language_of(path)
    if language == "c" and path.lower().endswith(".h") and any(word in data for word in _CPP_WORDS):
        return "cpp"
    return language or language_of_script(data[:_HEAD])


def language_of_script(head: bytes) -> str:
    """Return the language of the interpreter in the first line; empty if there is none."""
    if not head.startswith(b"#!"):
        return ""
    words = head.split(b"\n", 1)[0][2:].decode("ascii", "replace").split()
    names = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    name = names[1] if len(names) > 1 and names[0] == "env" else (names[0] if names else "")
    return _INTERPRETERS.get(name.rstrip("0123456789."), "")


def binary_reason(data: bytes, threshold_percent: int = 30) -> str:
    """Return why these bytes are not text; empty if they are. Valid UTF-8 in any script is text."""
    head = data[:_HEAD]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    if head.startswith(_MAGIC):
        return "binary (magic number)"
    if b"\x00" in data:
        return "binary (NUL byte)"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return _share(head, threshold_percent)
    return ""


def _share(head: bytes, threshold_percent: int) -> str:
    strange = sum(byte < 9 or 13 < byte < 32 or byte >= 127 for byte in head)
    return f"binary ({100 * strange // len(head)} % non-text)" if strange * 100 > threshold_percent * len(head) else ""
