"""What a secret looks like: patterns of known vendors and formats, and of assignments in code and configuration.

Patterns are RE2 on bytes. The last group, where there is one, is the part that is redacted; otherwise all of it. None of
these can take more than linear time, and the same holds for the patterns a user adds.
"""

from __future__ import annotations

from typing import NamedTuple

VERSION = 4  # raise it when rules change: stored texts are then scrubbed again


class Rule(NamedTuple):
    """One kind of secret. `check` names the test its value must pass before it counts as a find."""

    name: str
    pattern: str
    check: str = ""
    in_comments: bool = False


VENDORS = (
    Rule("aws-access-key", r"\b((?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16})\b"),
    Rule("aws-secret-key", r"(?i)aws.{0,24}(?:secret|sk).{0,24}?['\"=:\s]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"),
    Rule("github-token", r"\b(gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{60,255})"),
    Rule("gitlab-token", r"\b(gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_\-]{20,64})"),
    Rule("slack-token", r"\b(xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250})"),
    Rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_+-]{20,120})"),
    Rule("discord-webhook", r"discord(?:app)?\.com/api/webhooks/(\d{15,22}/[A-Za-z0-9_-]{30,100})"),
    Rule("discord-token", r"\b([MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40})\b"),
    Rule("stripe-key", r"\b((?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{16,128}|whsec_[A-Za-z0-9]{24,64})"),
    Rule("google-api-key", r"\b(AIza[A-Za-z0-9_\-]{35})"),
    Rule("google-oauth", r"\b(GOCSPX-[A-Za-z0-9_\-]{20,40}|ya29\.[A-Za-z0-9_\-]{20,500}|1//0[A-Za-z0-9_\-]{20,200})"),
    Rule("openai-key", r"\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,200})", "mixed"),
    Rule("anthropic-key", r"\b(sk-ant-[A-Za-z0-9_\-]{20,200})"),
    Rule("huggingface-token", r"\b((?:hf|api_org)_[A-Za-z0-9]{30,60})\b", "mixed"),
    Rule("twilio-key", r"\b((?:SK|AC)[0-9a-f]{32})\b"),
    Rule("sendgrid-key", r"\b(SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64})"),
    Rule("mailgun-key", r"\b((?:key|pubkey)-[0-9a-f]{32})\b"),
    Rule("mailchimp-key", r"\b([0-9a-f]{32}-us\d{1,2})\b"),
    Rule("npm-token", r"\b(npm_[A-Za-z0-9]{36})\b"),
    Rule("npm-auth", r"(?i):_(?:auth(?:token)?|password)\s*=\s*['\"]?([A-Za-z0-9+/=_\-]{8,300})"),
    Rule("pypi-token", r"\b(pypi-[A-Za-z0-9_\-]{50,300})"),
    Rule("rubygems-key", r"\b(rubygems_[0-9a-f]{48})\b"),
    Rule("docker-token", r"\b(dckr_(?:pat|oat)_[A-Za-z0-9_\-]{20,64})"),
    Rule("docker-auth", r"\"auth\"\s*:\s*\"([A-Za-z0-9+/=]{12,400})\""),
    Rule("digitalocean-token", r"\b(do[opr]_v1_[0-9a-f]{64})\b"),
    Rule("databricks-token", r"\b(dapi[0-9a-f]{32}(?:-\d)?)\b"),
    Rule("shopify-token", r"\b(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})\b"),
    Rule("square-token", r"\b(sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,60}|EAAA[A-Za-z0-9_\-]{60})"),
    Rule("telegram-token", r"\b(\d{8,10}:AA[A-Za-z0-9_\-]{33})\b"),
    Rule("facebook-token", r"\b(EAAC[A-Za-z0-9]{30,300})\b"),
    Rule("dropbox-token", r"\b(sl\.[A-Za-z0-9_\-]{130,160})"),
    Rule("linear-key", r"\b(lin_(?:api|oauth)_[A-Za-z0-9]{32,64})\b"),
    Rule("notion-key", r"\b(ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})\b"),
    Rule("postman-key", r"\b(PMAK-[0-9a-f]{24}-[0-9a-f]{34})\b"),
    Rule("newrelic-key", r"\b(NR(?:AK|JS|II|RA)-[A-Za-z0-9]{19,32})\b"),
    Rule("atlassian-token", r"\b(ATATT3[A-Za-z0-9_\-=]{60,250})"),
    Rule("vault-token", r"\b(hv[bsr]\.[A-Za-z0-9_\-]{24,300})"),
    Rule("terraform-token", r"\b([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{60,70})"),
    Rule("age-key", r"\b(AGE-SECRET-KEY-1[A-Z0-9]{58})\b"),
    Rule("doppler-token", r"\b(dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44})\b"),
    Rule("planetscale-token", r"\b(pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.]{32,64})"),
    Rule("sentry-token", r"\b(sntry[su]_[A-Za-z0-9_+/=]{40,250})"),
    Rule("grafana-token", r"\b(gl(?:sa|c)_[A-Za-z0-9_+/=]{32,200})"),
    Rule("figma-token", r"\b(fig[dou][rh]?_[A-Za-z0-9_\-]{38,60})"),
    Rule("alibaba-key", r"\b(LTAI[A-Za-z0-9]{16,24})\b"),
    Rule("supabase-key", r"\b(sb[ps]_[0-9a-f]{40})\b"),
    Rule("azure-storage-key", r"(?i)AccountKey\s*=\s*([A-Za-z0-9+/]{60,100}={0,2})"),
    Rule("azure-shared-access", r"(?i)(?:SharedAccessKey|SharedAccessSignature|[?&]sig)=([A-Za-z0-9%+/]{30,120}={0,2})"),
    Rule("jwt", r"\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"),
    Rule("connection-string", r"(?i)\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@'\"<>`]{0,64}:([^\s/@'\"<>`]{2,128})@", "password"),
    Rule("url-secret", r"(?i)[?&](?:api_?key|access_token|auth_token|client_secret|token|password)=([^&\s'\"<>)]{12,200})",
         "mixed"),
    Rule("auth-header", r"(?i)\b(?:authorization|proxy-authorization)['\"]?\s*[:=,]\s*['\"]?(?:basic|bearer|token)\s+"
         r"([A-Za-z0-9_\-.=+/]{12,})", "mixed"),
    Rule("netrc", r"(?m)^\s*(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(\S+)"),
    Rule("netrc-password", r"(?m)^\s*password[ \t]+(\S{4,})[ \t]*\r?$", "mixed"),
    Rule("password-hash", r"(?m)^[\w.@-]{1,64}:(\$(?:apr1|1|2[aby]|5|6|y)\$[^:\s]{8,120}|\{SHA\}[A-Za-z0-9+/=]{20,40})"),
    Rule("command-line-password", r"(?:curl|wget|mysql|mysqldump|psql|mongo|sshpass|redis-cli)\b[^\n]{0,160}?\s"
         r"(?:-u\s*['\"]?[\w.@-]{1,64}:|--password[= ]['\"]?|-p['\"]?)([^\s'\"$]{4,128})", "password"),
)  # fmt: skip

_KEY = (
    r"(?:[\w.\-]{0,40}(?:pass(?:word|wd|phrase|code)|passwd|pwd|secret|token|api[_\-. ]?key|access[_\-. ]?key|"
    r"private[_\-. ]?key|auth[_\-. ]?key|encryption[_\-. ]?key|account[_\-. ]?key|consumer[_\-. ]?key|"
    r"credential|client[_\-. ]?key|\bpass|\bsalt|app[_\-. ]?key)[\w.\-]{0,24})"
)

# In code only a quoted literal is a value; in configuration the rest of the line may be one.
ASSIGNMENTS = (
    Rule("assignment", rf"(?i)({_KEY})['\"`]?\]?\s{{0,8}}(?::\s{{0,4}}[\w\[\], |.?]{{1,40}}\s{{0,4}})?"
         rf"(?:=>|:=|==?|:)\s{{0,8}}(?:[bBrRuUfF]{{0,2}}|@|new\s)(?:\"([^\"\n]{{1,256}})\"|'([^'\n]{{1,256}})'|`([^`\n]{{1,256}})`)",
         "assigned"),
    Rule("assignment-define", rf"(?i)\bdefine\(\s{{0,4}}['\"]({_KEY})['\"]\s{{0,4}},\s{{0,4}}['\"]([^'\"\n]{{1,256}})['\"]",
         "assigned"),
    Rule("assignment-element", rf"(?i)<({_KEY})>([^<\n]{{1,256}})</", "assigned"),
)  # fmt: skip
CONFIGURATION = (
    Rule("assignment-config", rf"(?im)^[ \t]*(?:export[ \t]+|set[ \t]+|-[ \t]+)?['\"]?({_KEY})['\"]?[ \t]*(?::=|=|:)[ \t]*"
         r"([^\s'\"#;,{}\[\]][^\s#;]{0,255})[ \t]*(?:\r?$|[#;,])", "assigned"),
    Rule("config-directive", r"(?im)^[ \t]*(?:requirepass|masterauth|rpcpassword|admin_password|secret_key_base)"
         r"[ \t]*[ =:][ \t]*(\S{4,256})", "config"),
)  # fmt: skip

# In a comment or a sentence whatever follows the word is the value; it must look like no word of a language.
_SAID = r"[ \t]{0,3}['\"]?([^\s'\",;()]{6,128})(?:[\s'\",;]|$)"
COMMENTS = (Rule("comment", rf"(?im)\b({_KEY})[ \t]{{0,3}}[:=]{_SAID}", "mixed", in_comments=True),)
SENTENCES = (
    Rule("sentence", rf"(?im)\b({_KEY})[ \t]{{0,3}}(?:\bis\b|[:=]){_SAID}", "mixed"),
    Rule(
        "spoken-password",  # "my password for the router is …"
        r"(?i)\b(?:password|passwort|passcode|passphrase|kennwort|mot de passe|contraseña)\b"
        r"(?:\s+(?:for|of|to|on|für|vom|pour|de)(?:\s+[\w'-]{1,30}){1,4}?)?\s*(?:is|was|ist|lautet|est|es|[:=])\s*['\"`]?([^\s'\"`]{5,80})",
        "mixed",
    ),
)
