"""Secrets with a recognizable format: vendor tokens, URLs with a password, password hashes.

Patterns are RE2 on bytes and take linear time, as do the patterns that a user adds. The last group is redacted, or the whole
match if there is no group.
"""

from __future__ import annotations

from typing import NamedTuple

from contextd.privacy.cards import ANNOUNCED

VERSION = 10  # increase when rules change; stored texts are then scrubbed again


ALLOW = "allow"  # check of a rule that matches values which are not secrets
ALLOW_PATH = "allow-path"  # check of a rule that matches paths of files without secrets


class Rule(NamedTuple):
    """One kind of secret. `check` names the test that a matched value must pass; empty for none."""

    name: str
    pattern: str
    check: str = ""


FORMATS = (
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
    Rule("huggingface-token", r"\b((?:hf|api_org)_[A-Za-z0-9]{30,60})\b"),
    Rule("xai-key", r"\b(xai-[A-Za-z0-9]{40,120})\b"),
    Rule("fly-token", r"\b(?:FlyV1 )?(fm[12][ar]?_[A-Za-z0-9+/=_,-]{40,1000})"),
    Rule("cloudflare-key", r"\b(v1\.0-[0-9a-f]{24}-[0-9a-f]{100,200})\b"),
    Rule("twilio-key", r"\b((?:SK|AC)[0-9a-f]{32})\b"),
    Rule("sendgrid-key", r"\b(SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64})"),
    Rule("mailgun-key", r"\b((?:key|pubkey)-[0-9a-f]{32})\b"),
    Rule("mailchimp-key", r"\b([0-9a-f]{32}-us\d{1,2})\b"),
    Rule("npm-token", r"\b(npm_[A-Za-z0-9]{36})\b"),
    Rule("npm-auth", r"(?i)(?:^|[:\s])_(?:auth(?:token)?|password)\s*=\s*['\"]?([A-Za-z0-9+/=_\-]{8,300})", "mixed"),
    Rule("pypi-token", r"\b(pypi-[A-Za-z0-9_\-]{50,300})"),
    Rule("rubygems-key", r"\b(rubygems_[0-9a-f]{48})\b"),
    Rule("docker-token", r"\b(dckr_(?:pat|oat)_[A-Za-z0-9_\-]{20,64})"),
    Rule("docker-auth", r"\"auth\"\s*:\s*\"([A-Za-z0-9+/=]{12,400})\""),
    Rule("digitalocean-token", r"\b(do[opr]_v1_[0-9a-f]{64})\b"),
    Rule("databricks-token", r"\b(dapi[0-9a-f]{32}(?:-\d)?)\b"),
    Rule("shopify-token", r"\b(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})\b"),
    Rule("square-token", r"\b(sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,60}|EAAA[A-Za-z0-9_\-]{60})"),
    Rule("telegram-token", r"(?:\b|bot)(\d{8,10}:AA[A-Za-z0-9_\-]{33})\b"),
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
    Rule("azure-client-secret", r"\b([A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34})"),
    Rule("teams-webhook", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{40,300})"),
    Rule("firebase-key", r"\b(AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,200})"),
    Rule("mapbox-token", r"\b(sk\.eyJ[A-Za-z0-9_-]{20,200}\.[A-Za-z0-9_-]{10,64})"),
    Rule("airtable-token", r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})\b"),
    Rule("prefixed-token", r"\b((?:nfp|rnd|tfp|aio|pul|CFPAT|figd|lip|xkeysib|dt0c01|okta|shippo_live|sl|PRIVATE-TOKEN|glsoat|rpa|tskey|ops|phc|phx|rk|whsec|"
         r"sgp|edgc|bkua|cio|fo1|nvapi|gsk|r8|pplx|sk_ant|op)[_.\-][A-Za-z0-9_.\-]{24,256})\b", "random"),
    Rule("jwt", r"\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"),
    Rule("connection-string", r"(?i)\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@'\"<>`]{0,64}:([^\s/'\"<>`]{2,128})@", "password"),
    Rule("data-source", r"['\"`\s=][\w.-]{1,40}:([^\s@'\"`/:]{4,64})@(?:tcp|unix)\(", "password"),
    Rule("url-user", r"(?i)\bhttps?://([A-Za-z0-9_\-]{16,128})(?::x-oauth-basic)?@", "random"),
    Rule("url-secret", r"(?i)[?&](?:api_?key|access_token|auth_token|client_secret|token|password)=([^&\s'\"<>)]{12,200})",
         "mixed"),
    Rule("auth-header", r"(?i)\b(?:authorization|proxy-authorization)['\"\]]{0,2}\s*[:=,\s]\s*['\"`]?(?:(?:basic|bearer|token|apikey|key|digest|negotiate|bot)\s+"
         r"|key=)?(?:token=)?([A-Za-z0-9_\-.=+/:]{12,})", "long"),
    Rule("auth-scheme", r"(?i)\b(?:proxy-)?authorization['\"\]]{0,2}[ \t]*[:=,][ \t]*['\"`]?[a-z][\w-]{1,24}[ \t]+([A-Za-z0-9_\-.=+/:]{16,})", "long"),
    Rule("basic-pair", r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"`]?basic\s+[\w.@-]{2,64}[ :]([^\s'\"`]{4,64})", "made-up"),
    Rule("basic-credentials", r"(?i)\bbasic['\"]?[\s+'\"]{1,6}([A-Za-z0-9+/_-]{8,}={0,2})", "basic"),
    Rule("bearer-token", r"(?i)\bbearer\s+([A-Za-z0-9_\-.=+/~]{16,})", "random"),
    Rule("session-cookie", r"(?i)(?:\b|_)(?:(?:php|j|asp)?sess(?:ion)?_?(?:id|key)?|connect\.sid|asp\.net_sessionid|sid|remember_\w{1,60}|auth)=(?:s%3A|s:)?([A-Za-z0-9_\-.%+/]{16,})", "random"),
    Rule("session-entry", r"(?i)['\"](?:(?:php|j|asp)?sess(?:ion)?_?(?:id|key|token)?|connect\.sid|[a-z]{1,20}_session|sid|remember_\w{1,60})['\"]\s*(?:,|:|=>)\s*['\"]([A-Za-z0-9_\-.%+/=]{16,512})['\"]", "random"),
    Rule("cookie-value", r"(?i)name['\"]?\s*[:=]\s*['\"]\w{0,20}sess\w{0,20}['\"]\s*,\s*['\"]?value['\"]?\s*[:=]\s*['\"]([^'\"\n]{16,512})", "random"),
    Rule("header-field", r"(?:[sS]et|[aA]dd)Value[:(]\s*@?\"([^\"\n]{8,256})\",?\s+forHTTPHeaderField:\s*@?\"(?:[\w-]{0,40}(?:[kK]ey|KEY|[tT]oken|TOKEN|[sS]ecret)|Authorization)\"", "mixed"),
    Rule("signed-address", r"(?i)[?&](?:X-Amz-Signature|X-Goog-Signature|Signature)=([A-Za-z0-9%+/=_-]{32,})", "mixed"),
    Rule("netrc", r"(?m)^\s*(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(\S+)"),
    Rule("password-hash", r"(\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:apr1|1|5|6|y|7)\$[./A-Za-z0-9=$,]{20,160}|"
         r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*)\$[^\s'\":]{20,200}|pbkdf2_sha\d+\$\d+\$[^\s'\":]{20,120}|"
         r"\{S?SHA\d*\}[A-Za-z0-9+/=]{20,120})"),
    Rule("piped-password", r"\b(?:echo|printf)\s+(?:-\w+\s+)?(?:'%s'\s+)?['\"]?(?:[\w.-]{1,32}:)?([^\s'\"|$`]{4,128})['\"]?\s*\|\s*(?:sudo\s+(?:-\w+\s+){0,3}?-\w*S|(?:sudo\s+)?(?:ch|smb)?passwd\b|"
         r"docker\s+login|podman\s+login|helm\s+registry|kinit|cryptsetup|su\b)", "password"),
    Rule("expected-prompt", r"(?i)expect[^\n]{0,60}ass(?:word|phrase)[^\n]{0,60}[\n;]\s*[\w.$@]{0,40}\s*\{?\s*send(?:line)?[\s(]+(?:--\s+)?['\"]([^\"'\n\\]{4,64})", "password"),
    Rule("oracle-connect", r"(?i)connect\(\s*['\"][\w$]{1,32}/([^@\s/'\"]{4,64})@", "password"),
    Rule("server-directive", r"(?m)^\s*stats\s+auth\s+[\w.-]{1,64}:(\S{4,128})|^d-i\s+\S{0,80}passw\S{0,40}\s+password\s+(\S{4,64})|^user\s+\S{1,64}\s+on\s[^\n]{0,80}?>(\S{4,128})|"
         r"\{(?:PLAIN|CLEAR|CLEARTEXT)\}([^\s:]{4,64})|\bPSK\s+\"([^\"\n]{4,128})\"", "password"),
    Rule("base64-private-key", r"\b(LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURSBLRVkt|BQUklWQVRFIEtFWS0|BPUEVOU1NIIFBSSVZBVEUgS0VZ|BFQyBQUklWQVRFIEtFWS0|BFTkNSWVBURUQgUFJJVkFURSBLRVkt)[A-Za-z0-9+/=]{16,})"),
    Rule("user-and-password", r"(?i)\b(?:user(?:name)?|login|benutzer|usuario)\s?/\s?(?:pass\w{0,8}|pw|pwd|kennwort|clave)\s*[:=]?\s*['\"`]?[\w.@+-]{2,40}\s?/\s?([^\s'\"`/]{4,64})", "made-up"),
    Rule("option-password", r"\s-(?:p|P|pw)[ =]['\"]?([^\s'\"$=/#\[\]]{12,128})", "random"),
    Rule("kubectl-literal", r"--from-literal=[\w.-]{1,64}=['\"]?([^\s'\"$]{4,256})", "password"),
    Rule("oracle-thin", r"(?i)jdbc:oracle:(?:thin|oci):[\w.$-]{1,64}/([^@\s/'\"]{4,64})@", "password"),
    Rule("sqlplus", r"(?i)\b(?:sqlplus|exp|imp|expdp|impdp|sqlldr|connect)\b[^\n]{0,60}?\s[\w$]{1,32}/([^\s@/'\"$]{4,64})@", "password"),
    Rule("secure-string", r"(?i)ConvertTo-SecureString\s+(?:-\w{1,20}\s+){0,4}['\"]([^'\"$\n]{4,128})['\"]", "literal"),
    Rule("auth-call", r"[.:>]auth\(\s*['\"]([^'\"\s]{8,256})['\"]\s*\)", "made-up"),
    Rule("random-key", r"(?:[^cC_\-.]|[^cC][_\-.]|^)(?:[kK]ey|KEY)['\"]?\]?\s{0,8}(?:=>|=|:)\s{0,8}b?['\"](?:base64:)?([A-Za-z0-9+/_-]{20,256}={0,2})['\"]", "random"),
    Rule("named-token", r"(?i)(?:password|passwd|secret|token|api_?key)[_\-=]([A-Za-z0-9]{16,256})", "random"),
    Rule("login-pair", r"(?i)\b(?:login|creds?|credentials?|zugangsdaten|identifiants|credenciales)\b(?:[ \t]+(?:is|are|with|as)\b)?[ \t]*[:=]?[ \t]*['\"`]?"
         r"[\w.@+-]{2,40}['\"`]?[ \t]*[/:][ \t]*['\"`]?([^\s'\"`/()\[\]{}]{6,64})", "paired"),
    Rule("login-in-brackets", r"(?i)\b(?:login|creds?|credentials?)[ \t]{0,2}\([ \t]?[\w.@+-]{2,40}[ \t]/[ \t]([^\s'\"`/()\[\]{}]{6,64})", "paired"),
    Rule("address-pair", r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}\s{0,2}['\"`]?\s?/\s{1,2}['\"`]?([^\s'\"`/]{6,64})", "made-up"),
    Rule("google-app-password", r"['\"]([a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4})['\"]", "letters"),
    Rule("private-jwk", r"\"(?:d|p|q|dp|dq|qi|k)\"\s*:\s*\"([A-Za-z0-9_-]{32,})\"", "random"),
    Rule("network-device", r"(?i)\b(?:password|secret|key)\s+[05789]\s+(\S{4,128})|\bsnmp-server\s+community\s+(\S{4,64})|\brocommunity\s+(\S{4,64})", "password"),
    Rule("network-server", r"(?i)\b(?:radius|tacacs)[^\n]{0,80}\s(?:key|secret)\s+(?:[0-9]\s+)?(\S{4,64})|\bisakmp\s+key\s+(?:[06]\s+)?(\S{4,64})|"
         r"\bauthentication-key\s+\d+\s+md5\s+(\S{4,64})|\benable\s+(?:secret|password)\s+(?:[0-9]\s+)?(\S{4,128})|"
         r"\busername\s+\S{1,64}\s+(?:privilege\s+\d+\s+)?(?:secret|password)\s+(?:[0-9]\s+)?(\S{4,128})|(?m:^)\s*community\s+(\S{4,64})", "made-up"),
    Rule("mail-login", r"(?m)^(?:\[[\w.-]{3,80}\]|[\w-]{1,40}\.[\w.-]{2,60})(?::\d{2,5})?[ \t]+[\w.@+-]{2,64}:(\S{6,64})[ \t]*$|\bstatic:[\w.@+-]{2,64}:(\S{4,64})", "strong"),
    Rule("inline-login", r"<auth-user-pass>\s*\n[^\n]{1,64}\n([^\n]{4,128})\n", "literal"),
    Rule("wireless", r"(?i)\bnmcli\b[^\n]{0,120}\spassword\s+['\"]?([^\s'\"$]{8,63})|\bwpa_passphrase\s+\S{1,40}\s+['\"]?([^\s'\"$]{8,63})|"
         r"\bwi-?fi\b[^\n]{0,80}\n(?:[^\n]{0,80}\n){0,3}?[^\n]{0,20}\b(?:key|code|pw)\b[*_\s]{0,4}[:=][*_\s]{0,4}`?([^\s`]{8,63})", "made-up"),
    Rule("account-pair", r"(?i)(?:^|[\s(>`'\":,|])(?:root|admin|administrator|sysadmin|superuser|postgres|ubuntu|operator|backup|deploy|service|svc[\w-]{0,24})[`'\"]?[ \t]{0,2}"
         r"(?:[ \t]/[ \t]|\|[ \t]{0,8})['\"`]?([^\s'\"`/|()\[\]{}]{8,64})", "strong"),
    Rule("account-colon", r"(?i)(?:^|[\s(>`])(?:root|admin|administrator|sysadmin|superuser):([^\s'\"`/|()\[\]{}<>$]{8,64})", "signed"),
    Rule("announced-card", ANNOUNCED, "card"),
    Rule("card-code", r"(?i)\b(?:cvc|cvv)2?(?: code| number)?[ \t]*(?:[:=]|is)?[ \t]*(\d{3,4})\b"),
    Rule("seed-phrase", r"(?i)\b(?:seed|recovery|mnemonic)(?: phrase| words)?[ \t]*[:=][ \t]*['\"]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b"),
    Rule("contextd-token", r"\b(ctd_[A-Za-z0-9_\-]{20,100})"),
    Rule("chpasswd", r"chpasswd:\s*\n(?:\s+\w+:[^\n]{0,40}\n){0,3}?\s+(?:list:\s*\|?\s*\n\s+)?[\w.-]{1,32}:(\S{4,64})", "password"),
)  # fmt: skip
