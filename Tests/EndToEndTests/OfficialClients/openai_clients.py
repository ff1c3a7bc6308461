"""Checks that clients of OpenAI's protocols work against a gateway, unchanged: the packages `openai`, `langchain-openai` and `litellm`.

Usage: openai_clients.py BASE_URL TOKEN LIMITED_URL FORBIDDEN_TOKEN
    BASE_URL without /v1, of a gateway whose provider is the simulator; LIMITED_URL: of one that allows two requests a minute;
    FORBIDDEN_TOKEN: valid, and not allowed on any route
Prints a line for each check, and one for each package that is not installed; exits 1 if a check failed.
"""

import json
import sys
import time
import uuid

import openai

from checks import check, raises, run_checks

BASE, TOKEN, LIMITED_BASE, FORBIDDEN = sys.argv[1:] if len(sys.argv) == 5 else sys.exit(__doc__)
V1 = BASE.rstrip("/") + "/v1"
LIMITED = LIMITED_BASE.rstrip("/") + "/v1"

client = openai.OpenAI(base_url=V1, api_key=TOKEN, max_retries=0, timeout=30)
repeating = openai.OpenAI(base_url=V1, api_key=TOKEN, max_retries=2, timeout=30)


def say(**script):
    return "Please write a plan for my garden. [[sim " + json.dumps({"pace_ms": 0, "first_token_ms": 0, **script}) + "]]"


def messages(**script):
    return [{"role": "system", "content": "You are terse."}, {"role": "user", "content": say(**script)}]


def expect_above_limit(kind, function):
    """More requests than two minutes allow, because one may end in between."""
    return raises(kind, lambda: [function() for _ in range(6)])


TEXT = "One step, then another: a small one. 🌱"


@check("openai: models are listed")
def _():
    assert "coach" in [model.id for model in client.models.list()]
    assert client.models.retrieve("coach").id == "coach"
    raises(openai.NotFoundError, lambda: client.models.retrieve("parrot"))


@check("openai: a chat completion")
def _():
    answer = client.chat.completions.create(model="coach", messages=messages(text=TEXT), temperature=0.2)
    assert answer.choices[0].message.content == TEXT and answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


@check("openai: a streamed chat completion with usage")
def _():
    chunks = list(
        client.chat.completions.create(
            model="coach", messages=messages(text=TEXT), stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == TEXT
    assert chunks[-1].usage.completion_tokens > 0 and chunks[-2].choices[0].finish_reason == "stop"


@check("openai: the stream helper of chat completions")
def _():
    with client.chat.completions.stream(model="coach", messages=messages(text=TEXT)) as stream:
        stream.until_done()
        assert stream.get_final_completion().choices[0].message.content == TEXT


@check("openai: errors are the package's own exceptions")
def _():
    stranger = openai.OpenAI(base_url=V1, api_key="no.token", max_retries=0)
    raises(openai.AuthenticationError, lambda: stranger.models.list())
    unknown = raises(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4o", messages=messages(words=1)))
    assert unknown.code == "model_not_found" and unknown.param == "model"
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    raises(openai.BadRequestError, lambda: client.chat.completions.create(model="coach", messages=messages(words=1), tools=tools))
    error = raises(openai.BadRequestError, lambda: client.responses.create(model="coach", input=say(words=1), previous_response_id="resp_" + str(uuid.uuid4())))
    assert error.code == "previous_response_not_found"
    raises(openai.NotFoundError, lambda: client.responses.retrieve("resp_" + str(uuid.uuid4())))


@check("openai: a rate limit and a forbidden token are the package's own exceptions")
def _():
    limited = openai.OpenAI(base_url=LIMITED, api_key=TOKEN, max_retries=0, timeout=30)
    error = expect_above_limit(
        openai.RateLimitError, lambda: limited.chat.completions.create(model="coach", messages=messages(words=1)))
    assert error.status_code == 429 and int(error.response.headers["retry-after"]) >= 1
    forbidden = openai.OpenAI(base_url=V1, api_key=FORBIDDEN, max_retries=0, timeout=30)
    raises(openai.PermissionDeniedError, lambda: forbidden.chat.completions.create(model="coach", messages=messages(words=1)))


@check("openai: a failure after the turn began is not repeated")
def _():
    raises(openai.InternalServerError, lambda: repeating.chat.completions.create(model="coach", messages=messages(http_error={"status": 500})))
    # A second request of the same user would have begun another turn; the remaining requests tell how many there were.
    spent = -1
    while spent < 0:  # The minute of the limit may have ended in between.
        before = remaining()
        raises(openai.InternalServerError, lambda: repeating.responses.create(model="coach", input=say(http_error={"status": 500})))
        spent = before - remaining()
    assert spent == 2, f"{spent}, not one creation and one reading of the limit"


@check("openai: a request that is repeated after a timeout gets the answer of the first one's turn")
def _():
    # Each repetition would time out, too, if it began a turn of its own.
    impatient = openai.OpenAI(base_url=V1, api_key=TOKEN, max_retries=8, timeout=1)
    answer = impatient.chat.completions.create(model="coach", messages=messages(text=TEXT, first_token_ms=2500))
    assert answer.choices[0].message.content == TEXT


def remaining():
    return int(client.models.with_raw_response.list().headers["x-ratelimit-remaining"])


@check("openai: a stream that breaks is an error of the package")
def _():
    raises(
        openai.APIError,
        lambda: list(client.chat.completions.create(model="coach", messages=messages(words=30, cut_after_tokens=5), stream=True)))


@check("openai: a response, continued by the next")
def _():
    first = client.responses.create(model="coach", input=say(text=TEXT), instructions="Be terse.")
    assert first.output_text == TEXT and first.status == "completed" and first.usage.output_tokens > 0
    second = client.responses.create(model="coach", input=[{"role": "user", "content": say(words=2)}], previous_response_id=first.id)
    assert second.previous_response_id == first.id
    items = list(client.responses.input_items.list(first.id))
    assert [item.role for item in items] == ["user"] and items[0].content[0].type == "input_text", items
    error = raises(openai.BadRequestError, lambda: client.responses.create(model="coach", input=say(words=1), previous_response_id=first.id))
    assert error.code == "previous_response_not_latest"
    assert client.responses.retrieve(first.id).output_text == TEXT
    client.responses.delete(first.id)
    raises(openai.NotFoundError, lambda: client.responses.retrieve(first.id))


def streamed_text(events):
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


@check("openai: a streamed response is resumed after every one of its events")
def _():
    events = list(client.responses.create(model="coach", input=say(text=TEXT), stream=True))
    assert streamed_text(events) == TEXT and events[-1].type == "response.completed"
    assert events[-1].response.output_text == TEXT
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    id = events[0].response.id
    for index, number in enumerate(numbers):
        rest = list(client.responses.retrieve(id, stream=True, starting_after=number))
        assert streamed_text(events[: index + 1]) + streamed_text(rest) == TEXT


@check("openai: a stream in the background is left and resumed while it runs")
def _():
    seen, id = [], None
    with client.responses.create(model="coach", input=say(words=60, pace_ms=20), stream=True, background=True) as stream:
        for event in stream:
            seen.append(event)
            id = id or event.response.id
            if len(seen) == 12:
                break
    rest = list(client.responses.retrieve(id, stream=True, starting_after=seen[-1].sequence_number))
    final = client.responses.retrieve(id)
    assert final.status == "completed" and streamed_text(seen) + streamed_text(rest) == final.output_text


@check("openai: the stream helper of responses, from its beginning and resumed")
def _():
    with client.responses.stream(model="coach", input=say(text=TEXT)) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert final.output_text == TEXT and streamed_text(events) == TEXT
    for index, event in enumerate(events):
        with client.responses.stream(response_id=final.id, starting_after=event.sequence_number) as stream:
            rest = list(stream)
            assert stream.get_final_response().output_text == TEXT
        assert streamed_text(events[: index + 1]) + streamed_text(rest) == TEXT, event.sequence_number


@check("openai: a response in the background is polled")
def _():
    response = client.responses.create(model="coach", input=say(words=20, pace_ms=20), background=True)
    deadline = time.monotonic() + 20
    while response.status in ("queued", "in_progress") and time.monotonic() < deadline:
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    assert response.status == "completed" and response.output_text


@check("openai: a response is cancelled")
def _():
    response = client.responses.create(model="coach", input=say(words=3000, pace_ms=10), background=True)
    assert client.responses.cancel(response.id).status == "cancelled"
    assert client.responses.cancel(response.id).status == "cancelled"


def langchain_checks():
    from langchain_openai import ChatOpenAI

    def model(name="coach", key=TOKEN, base=V1, **more):
        return ChatOpenAI(model=name, base_url=base, api_key=key, max_retries=0, **more)

    @check("langchain: ChatOpenAI invokes and streams")
    def _():
        prompt = [("system", "You are terse."), ("human", say(text=TEXT))]
        answer = model().invoke(prompt)
        assert answer.content == TEXT and answer.usage_metadata["output_tokens"] > 0
        assert "".join(chunk.content for chunk in model().stream(prompt)) == TEXT
        assert model(stream_usage=True).invoke(prompt).content == TEXT

    @check("langchain: ChatOpenAI speaks responses")
    def _():
        assert model(use_responses_api=True).invoke(say(text=TEXT)).text == TEXT
        chunks = list(model(use_responses_api=True).stream(say(text=TEXT)))
        assert "".join(chunk.text for chunk in chunks) == TEXT and len(chunks) > 3
        assert sum((chunk.usage_metadata or {}).get("output_tokens", 0) for chunk in chunks) > 0

    @check("langchain: errors are those of the package it is built on")
    def _():
        raises(openai.AuthenticationError, lambda: model(key="no.token").invoke("hello"))
        raises(openai.NotFoundError, lambda: model("gpt-4o").invoke("hello"))
        raises(openai.BadRequestError, lambda: model(n=2).invoke("hello"))
        raises(openai.PermissionDeniedError, lambda: model(key=FORBIDDEN).invoke("hello"))
        expect_above_limit(openai.RateLimitError, lambda: model(base=LIMITED).invoke(say(words=1)))


def litellm_checks():
    import litellm

    litellm.suppress_debug_info = True

    def complete(model="openai/coach", key=TOKEN, base=V1, text=None, **more):
        return litellm.completion(
            model=model, api_base=base, api_key=key, num_retries=0, max_retries=0,
            messages=[{"role": "user", "content": text or say(text=TEXT)}], **more)

    @check("litellm: a completion and a stream")
    def _():
        assert complete().choices[0].message.content == TEXT
        assert "".join(chunk.choices[0].delta.content or "" for chunk in complete(stream=True)) == TEXT

    @check("litellm: a response and a streamed one")
    def _():
        def respond(**more):
            return litellm.responses(
                model="openai/coach", input=say(text=TEXT), api_base=V1, api_key=TOKEN, num_retries=0, max_retries=0, **more)

        assert respond().output[0].content[0].text == TEXT
        events = list(respond(stream=True))
        assert streamed_text(events) == TEXT and events[-1].type == "response.completed"

    @check("litellm: errors are its own exceptions")
    def _():
        raises(litellm.AuthenticationError, lambda: complete(key="no.token"))
        raises(litellm.NotFoundError, lambda: complete(model="openai/gpt-4o"))
        raises(litellm.BadRequestError, lambda: complete(n=2))
        expect_above_limit(litellm.RateLimitError, lambda: complete(base=LIMITED, text=say(words=1)))
        # Not every version has an exception of its own for 403; each has the status.
        assert raises(openai.APIError, lambda: complete(key=FORBIDDEN)).status_code == 403
        failing = raises(litellm.exceptions.ServiceUnavailableError, lambda: complete(text=say(http_error={"status": 500})))
        assert failing.status_code == 503


for register in [langchain_checks, litellm_checks]:
    try:
        register()
    except ImportError as error:
        print(f"skipped: {error.name} is not installed")

run_checks()
