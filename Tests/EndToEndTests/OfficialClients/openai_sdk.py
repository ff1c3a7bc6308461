"""Checks that the official `openai` package works against the simulator, unchanged.

Usage: openai_sdk.py BASE_URL       (such as http://127.0.0.1:8081, without /v1)
Prints one line a check; exits 1 if any failed.
"""

import asyncio
import json
import time

import openai
from openai import AsyncOpenAI

try:
    import httpx2 as httpx  # what openai 3 is built on
except ImportError:
    import httpx

from checks import check, raises, run_checks
from simulator_checks import BASE, FAST, MESSAGES, by_header, by_message, client, control, retrying, streamed, text_of


@check("a streamed answer has a role, text in many pieces, a reason and no usage")
def _():
    chunks = streamed(extra_headers=by_header())
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[0].id.startswith("chatcmpl-") and len({c.id for c in chunks}) == 1
    assert all(c.object == "chat.completion.chunk" and c.model == "sim-coach-1" for c in chunks)
    assert all(c.system_fingerprint and c.service_tier == "default" for c in chunks)
    assert abs(chunks[0].created - time.time()) < 60
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(c.usage is None for c in chunks)
    text = text_of(chunks)
    assert 60 <= len(text.split()) <= 120 and "exam preparation" in text, text
    assert len(chunks) > 50


@check("include_usage adds one last chunk without choices, consistent with the text")
def _():
    chunks = streamed(extra_headers=by_header(cached_tokens=7), stream_options={"include_usage": True})
    assert all(c.usage is None for c in chunks[:-1])
    last = chunks[-1]
    assert last.choices == []
    pieces = [c for c in chunks if c.choices and c.choices[0].delta.content]
    assert last.usage.completion_tokens == len(pieces)
    assert last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens
    assert last.usage.prompt_tokens_details.cached_tokens == 7
    assert last.usage.completion_tokens_details.reasoning_tokens == 0


@check("an answer that is not streamed has the same text and usage")
def _():
    whole = client.chat.completions.create(model="sim-coach-1", messages=MESSAGES, extra_headers=by_header())
    assert whole.object == "chat.completion" and whole.choices[0].message.role == "assistant"
    assert whole.choices[0].message.content == text_of(streamed(extra_headers=by_header()))
    assert whole.choices[0].finish_reason == "stop" and whole.choices[0].logprobs is None
    assert whole.usage.completion_tokens > 50


@check("response headers carry request id, limits and processing time")
def _():
    raw = client.chat.completions.with_raw_response.create(model="sim-coach-1", messages=MESSAGES, extra_headers=by_header())
    assert raw.headers["x-request-id"].startswith("req_") and raw.parse()._request_id == raw.headers["x-request-id"]
    for name in ("limit-requests", "remaining-requests", "reset-requests", "limit-tokens", "remaining-tokens", "reset-tokens"):
        assert raw.headers["x-ratelimit-" + name]
    assert int(raw.headers["openai-processing-ms"]) >= 0


@check("the streaming helper of the SDK accumulates the answer")
def _():
    with client.chat.completions.stream(model="sim-coach-1", messages=MESSAGES, extra_headers=by_header()) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds, kinds
    assert "exam preparation" in final.choices[0].message.content


@check("by default the first token comes after about 150 ms and a token every 20 ms")
def _():
    start = time.monotonic()
    times = []
    for chunk in client.chat.completions.create(model="sim-coach-1", messages=MESSAGES, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            times.append(time.monotonic() - start)
    assert 0.14 <= times[0] <= 1.5, times[0]
    pace = (times[-1] - times[0]) / (len(times) - 1)
    assert 0.015 <= pace <= 0.04, pace


@check("models are listed and retrieved")
def _():
    assert {"sim-coach-1", "sim-coach-mini"} <= {m.id for m in client.models.list()}
    assert client.models.retrieve("sim-anything").id == "sim-anything"
    assert raises(openai.NotFoundError, lambda: client.models.retrieve("gpt-4o")).code == "model_not_found"


@check("no key and another scheme raise AuthenticationError")
def _():
    for headers in ({"Authorization": ""}, {"Authorization": "Basic c2s6"}):
        error = raises(openai.AuthenticationError, lambda: streamed(extra_headers=headers))
        assert error.status_code == 401 and error.type == "invalid_request_error" and "API key" in error.message


@check("an unknown model raises NotFoundError")
def _():
    error = raises(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4o", messages=MESSAGES))
    assert error.code == "model_not_found" and error.request_id.startswith("req_")


@check("bad parameters raise BadRequestError and name the parameter")
def _():
    create = client.chat.completions.create
    cases = {
        "messages": {"messages": []},
        "messages[0].role": {"messages": [{"role": "coach", "content": "x"}]},
        "temperature": {"temperature": 3},
        "max_tokens": {"max_tokens": 0},
        "stream_options": {"stream_options": {"include_usage": True}},
        "stop": {"stop": ["a", "b", "c", "d", "e"]},
    }
    for param, options in cases.items():
        error = raises(openai.BadRequestError, lambda: create(**{"model": "sim-coach-1", "messages": MESSAGES, **options}))
        assert error.param == param and error.type == "invalid_request_error", (param, error)
    error = raises(openai.BadRequestError, lambda: create(model="sim-coach-1", messages=MESSAGES, extra_body={"colour": 1}))
    assert "colour" in error.message


@check("a scripted 429 raises RateLimitError with retry-after")
def _():
    script = by_header(http_error={"status": 429, "retry_after": 2})
    error = raises(openai.RateLimitError, lambda: streamed(extra_headers=script))
    assert error.code == "rate_limit_exceeded" and error.response.headers["retry-after"] == "2"
    script = by_header(http_error={"status": 429, "code": "insufficient_quota", "type": "insufficient_quota", "message": "no money"})
    error = raises(openai.RateLimitError, lambda: streamed(extra_headers=script))
    assert error.code == "insufficient_quota" and "no money" in error.message


@check("scripted 500, 503, 403 and an HTML error page raise the matching classes")
def _():
    for status, kind in ((500, openai.InternalServerError), (503, openai.InternalServerError), (403, openai.PermissionDeniedError)):
        assert raises(kind, lambda: streamed(extra_headers=by_header(http_error={"status": status}))).status_code == status
    page = by_header(http_error={"status": 502, "body": "<html>Bad Gateway</html>"})
    error = raises(openai.InternalServerError, lambda: streamed(extra_headers=page))
    assert error.status_code == 502 and error.response.headers["content-type"].startswith("text/html"), error


@check("the SDK's own retries get past an error that is queued once")
def _():
    control("POST", "scripts", [{"http_error": {"status": 503, "retry_after": 0.01}}, {**FAST, "text": "second"}])
    assert text_of(streamed(sdk=retrying)) == "second"
    assert control("GET", "scripts") == {"waiting": []}


@check("an error inside the stream raises APIError after the text before it")
def _():
    for then_done in (False, True):
        seen = []

        def read():
            script = by_header(error_after_tokens=5, error={"code": "server_error"}, error_then_done=then_done)
            for chunk in client.chat.completions.create(model="sim-coach-1", messages=MESSAGES, stream=True, extra_headers=script):
                seen.append(chunk)

        error = raises(openai.APIError, read)
        assert error.code == "server_error" and "Sorry" in error.message
        assert len([c for c in seen if c.choices[0].delta.content]) == 5


@check("a cut connection raises, however it is cut")
def _():
    for script in ({}, {"cut": "reset"}, {"cut_inside_frame": True}):
        kinds = (openai.APIConnectionError, openai.APIError, httpx.TransportError, json.JSONDecodeError)
        raises(kinds, lambda: streamed(extra_headers=by_header(cut_after_tokens=3, **script)))
    raises(openai.APIConnectionError, lambda: streamed(extra_headers=by_header(drop=True)))


@check("a provider that hangs or stalls raises APITimeoutError")
def _():
    hurried = client.with_options(timeout=0.3)
    raises(openai.APITimeoutError, lambda: streamed(sdk=hurried, extra_headers=by_header(hang=True)))
    raises((openai.APITimeoutError, httpx.ReadTimeout), lambda: streamed(sdk=hurried, extra_headers=by_header(stall_after_tokens=2)))


@check("byte by byte, in small chunks and many tokens a write, the text is the same")
def _():
    expected = text_of(streamed(extra_headers=by_header(unicode=True)))
    assert "\u2028" in expected and "\u0085" in expected and "👩‍👩‍👧‍👦" in expected and "e\u0301" in expected
    for script in ({"bytewise": True}, {"chunk_bytes": 7}, {"tokens_per_write": 8}):
        assert text_of(streamed(extra_headers=by_header(unicode=True, **script))) == expected


@check("a stream without [DONE], without usage, without a reason or without text still ends")
def _():
    usage = {"include_usage": True}
    assert text_of(streamed(extra_headers=by_header(no_done=True, text="Take a breath."))) == "Take a breath."
    assert all(c.usage is None for c in streamed(extra_headers=by_header(no_usage=True), stream_options=usage))
    assert all(c.choices[0].finish_reason is None for c in streamed(extra_headers=by_header(no_finish=True)))
    chunks = streamed(extra_headers=by_header(empty=True), stream_options=usage)
    assert text_of(chunks) == "" and chunks[-1].usage.completion_tokens == 0


@check("max_tokens, max_completion_tokens and stop end the answer")
def _():
    for options in ({"max_tokens": 5}, {"max_completion_tokens": 5}):
        chunks = streamed(extra_headers=by_header(), stream_options={"include_usage": True}, **options)
        assert chunks[-2].choices[0].finish_reason == "length" and chunks[-1].usage.completion_tokens == 5
    chunks = streamed(extra_headers=by_header(text="one two three four"), stop=" three")
    assert text_of(chunks) == "one two" and chunks[-1].choices[0].finish_reason == "stop"


@check("scripts in the last user message are followed, and only there")
def _():
    assert text_of(streamed(by_message(text="from the message"))) == "from the message"
    parts = [{"role": "user", "content": [{"type": "text", "text": by_message(text="in parts")[0]["content"]}]}]
    assert text_of(streamed(parts)) == "in parts"
    earlier = by_message(text="old") + [{"role": "assistant", "content": "old"}, {"role": "user", "content": "and now?"}]
    assert text_of(streamed(earlier, extra_headers=by_header(text="new"))) == "new"
    assert "content_filter" == streamed(by_message(finish_reason="content_filter"))[-1].choices[0].finish_reason
    error = raises(openai.BadRequestError, lambda: streamed(by_message(mispelt=1)))
    assert "mispelt" in error.message and error.code == "invalid_script"


@check("a script for another model leaves a request alone")
def _():
    messages = by_message(model="sim-coach-mini", http_error={"status": 503})
    assert text_of(streamed(messages, extra_headers={})) != ""
    raises(openai.InternalServerError, lambda: client.chat.completions.create(model="sim-coach-mini", messages=messages))


@check("a default script holds until it is cleared")
def _():
    control("PUT", "script", {**FAST, "text": "by default"})
    try:
        assert text_of(streamed()) == "by default" and text_of(streamed()) == "by default"
    finally:
        control("DELETE", "script")
    assert text_of(streamed(extra_headers=by_header())) != "by default"


@check("a client that hangs up is in the journal at once, and its key is not")
def _():
    before = control("GET", "stats")["started"]
    stream = client.chat.completions.create(
        model="sim-coach-1", messages=MESSAGES, stream=True, extra_headers=by_header(words=1000, stall_after_tokens=3)
    )
    pieces = 0
    while pieces < 3:
        pieces += 1 if next(stream).choices[0].delta.content else 0
    stream.close()
    deadline = time.monotonic() + 5
    while True:
        entry = control("GET", f"requests?after={before}")["requests"][-1]
        if entry["outcome"] != "running" or time.monotonic() > deadline:
            break
    assert entry["client_closed"] and not entry["finished"] and entry["tokens_sent"] == 3, entry
    assert entry["messages"] == MESSAGES and "sk-simulated" not in json.dumps(entry)


@check("100 asynchronous streams at once")
def _():
    async def run():
        async with AsyncOpenAI(base_url=BASE + "/v1", api_key="sk-simulated", max_retries=0, timeout=60) as sdk:

            async def one(number):
                text = f"answer number {number}"
                stream = await sdk.chat.completions.create(
                    model="sim-coach-1", messages=MESSAGES, stream=True, extra_headers=by_header(text=text, pace_ms=20)
                )
                assert "".join([c.choices[0].delta.content or "" async for c in stream if c.choices]) == text

            await asyncio.gather(*(one(number) for number in range(100)))
            whole = await sdk.chat.completions.create(model="sim-coach-mini", messages=MESSAGES, extra_headers=by_header())
            assert whole.model == "sim-coach-mini"
            assert "sim-coach-1" in [m.id async for m in sdk.models.list()]

    asyncio.run(run())


run_checks()
