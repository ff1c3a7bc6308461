"""Generates a client from the document and runs a persona's life with it: persona_life.py URL CREATOR_TOKEN USER_TOKEN."""

import base64
import compileall
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile

url, creator_token, user_token = sys.argv[1:]
folder = tempfile.mkdtemp()
environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
subprocess.run(
    ["openapi-python-client", "generate", "--url", f"{url}/openapi.json", "--meta", "none", "--output-path", f"{folder}/coach"],
    check=True, env=environment, executable=os.path.join(os.path.dirname(sys.executable), "openapi-python-client"))
assert compileall.compile_dir(f"{folder}/coach", quiet=1), "the generated client does not compile"
sys.path.insert(0, folder)

from coach import AuthenticatedClient, models, types  # noqa: E402

creator = AuthenticatedClient(base_url=url, token=creator_token)
user = AuthenticatedClient(base_url=url, token=user_token)


def call(client, name, *arguments, expect=200, **named):
    """Calls an operation by its id; returns the parsed answer."""
    answer = operation(name).sync_detailed(*arguments, client=client, **named)
    assert answer.status_code == expect, f"{name}: {answer.status_code} {answer.content[:500]}"
    return answer


def operation(name):
    for tag in ["personas", "turns", "conversations", "account"]:
        try:
            return importlib.import_module(f"coach.api.{tag}.{name}")
        except ModuleNotFoundError:
            continue
    raise AssertionError(f"the generated client has no {name}")


wrong = models.PersonaDraft(name="Dr. Ada", description="Ada is human. Write to ada@coach.example.", languages=["english!"])
findings = json.loads(call(creator, "post_api_v1_personas", body=wrong, expect=422).content)["error"]["details"]["findings"]
assert {finding["field"] for finding in findings} == {"name", "description", "languages[0]"}, findings
assert len([finding for finding in findings if finding["field"] == "description"]) == 2, findings
draft = models.PersonaDraft(name="Ada", description="Kind and precise.", starters=["Where do I start?"], languages=["en"])
made = call(creator, "post_api_v1_personas", body=draft, expect=201).parsed.data
persona = made.id
assert made.name == "Ada" and made.status == "draft", made
tag = call(creator, "get_api_v1_personas_id", persona).headers["etag"]
draft.name = "Bea"
changed = call(creator, "put_api_v1_personas_id", persona, body=draft, if_match=tag).parsed.data
assert changed.name == "Bea"
call(creator, "put_api_v1_personas_id", persona, body=draft, if_match=tag, expect=412)
# The generator sends the request, but reads no event streams.
preview = creator.get_httpx_client().request(
    **operation("post_api_v1_personas_id_preview")._get_kwargs(persona, body=models.PreviewRequest(message="Hello")))
assert preview.status_code == 200 and preview.headers["content-type"].startswith("text/event-stream")
assert '"type":"done"' in preview.text, preview.text
picture = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
call(creator, "put_api_v1_personas_id_avatar", persona, body=types.File(payload=io.BytesIO(picture)))
assert call(creator, "get_api_v1_personas_id_avatar", persona).content == picture
published = call(creator, "post_api_v1_personas_id_publish", persona, body=models.Publication()).parsed.data
assert published.status == "published" and published.published_version == 1
versions = call(creator, "get_api_v1_personas_id_versions", persona).parsed.data
assert [version.version for version in versions] == [1]
assert call(creator, "get_api_v1_personas_id_versions_version", persona, 1).parsed.data.name == "Bea"
draft.name = "Cea"
tag = call(creator, "get_api_v1_personas_id", persona).headers["etag"]
tag = call(creator, "put_api_v1_personas_id", persona, body=draft, if_match=tag).headers["etag"]
difference = call(creator, "get_api_v1_personas_id_diff", persona, from_=1).parsed.data
assert [operation["path"] for operation in json.loads(json.dumps(difference.to_dict()))["operations"]] == ["/name"], difference
back = call(creator, "post_api_v1_personas_id_rollback", persona, body=models.PersonaRollback(version=1), if_match=tag).parsed.data
assert back.name == "Bea" and back.published_version == 1, "what is published already is no new version"
assert call(creator, "get_api_v1_personas_id_stats", persona).parsed.data.users is None
card = json.loads(call(creator, "get_api_v1_personas_id_card", persona).content)
assert card["data"]["name"] == "Bea"
tag = call(creator, "get_api_v1_personas_id", persona).headers["etag"]
imported = call(creator, "put_api_v1_personas_id_card", persona, body=models.CharacterCard.from_dict(card), if_match=tag).parsed.data
assert imported.name == "Bea" and imported.starters == ["Where do I start?"]
assert any(own.id == persona for own in call(creator, "get_api_v1_me_personas", limit=100).parsed.data)
link = call(creator, "post_api_v1_personas_id_share_links", persona, body=models.ShareLinkDraft(max_uses=2), expect=201).parsed.data
redeemed = call(user, "post_api_v1_personas_redeem", body=models.Redemption(share_token=link.token)).parsed.data
assert redeemed.name == "Bea" and redeemed.id == persona
listed = call(user, "get_api_v1_personas", limit=100).parsed.data
assert any(other.id == persona for other in listed)
conversation = call(
    user, "post_api_v1_conversations", body=models.ConversationDraft(persona_id=persona), expect=201).parsed.data
newest = call(user, "post_api_v1_conversations_id_persona_version", conversation.id).parsed.data
assert newest.newest_version == 1
page = user.get_httpx_client().get(f"/p/{link.token}")
assert page.status_code == 200 and "Bea" in page.text, page.text
links = call(creator, "get_api_v1_personas_id_share_links", persona).parsed.data
assert [found.uses for found in links] == [1]
call(creator, "delete_api_v1_personas_id_share_links_link_id", persona, link.id)
call(user, "post_api_v1_personas_redeem", body=models.Redemption(share_token=link.token), expect=404)
call(creator, "delete_api_v1_personas_id_avatar", persona)
call(creator, "get_api_v1_personas_id_avatar", persona, expect=404)
assert call(creator, "post_api_v1_personas_id_unpublish", persona).parsed.data.status == "unpublished"
call(creator, "delete_api_v1_personas_id", persona)
call(creator, "get_api_v1_personas_id", persona, expect=404)
print("the life of a persona is complete")
