"""Access tokens for development."""
import base64
import hashlib
import hmac
import json
import time


def access_token(secret, user):
    """An HS256 access token in the issuer's format, valid for four hours."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    now = int(time.time())
    claims = {"sub": user, "aud": "authenticated", "role": "authenticated", "iat": now, "exp": now + 14_400}
    signed = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(secret.encode(), signed, hashlib.sha256).digest())).decode()
