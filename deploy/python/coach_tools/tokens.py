"""Access tokens for development."""
import base64
import hashlib
import hmac
import json
import time


def access_token(secret, user, role=None):
    """An HS256 access token in the issuer's format, valid for four hours; `role` is the gateway's: creator or operator."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    now = int(time.time())
    claims = {"sub": user, "aud": "authenticated", "role": "authenticated", "iat": now, "exp": now + 14_400}
    if role:
        claims["app_metadata"] = {"role": role}
    signed = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(secret.encode(), signed, hashlib.sha256).digest())).decode()
