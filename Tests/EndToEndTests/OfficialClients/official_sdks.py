"""Checks that the official packages of all simulated providers stream from the simulator, unchanged.

`openai` (Responses and Azure), `anthropic`, `google-genai`, `boto3`; chat completions have openai_sdk.py.

Usage: official_sdks.py BASE_URL       (such as http://127.0.0.1:8081)
Prints one line a check; exits 1 if any failed.
"""

import json
import sys

import anthropic
import boto3
import botocore.config
import botocore.exceptions
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from checks import check, raises, run_checks

BASE = sys.argv[1].rstrip("/") if len(sys.argv) == 2 else sys.exit(__doc__)
SYSTEM = "You are a coach."
FAST = {"pace_ms": 1, "first_token_ms": 1}
TEXT = "Grüß dich, das klingt schwer. 👋🏽 Was hilft?"
USAGE = {"prompt_tokens": 50, "completion_tokens": 30, "cached_tokens": 20}
RETRIES = botocore.config.Config(retries={"total_max_attempts": 1})

openai_client = openai.OpenAI(base_url=BASE + "/v1", api_key="sk-simulated", max_retries=0, timeout=20)
azure_client = openai.AzureOpenAI(
    azure_endpoint=BASE, api_key="azure", api_version="2024-10-21", max_retries=0, timeout=20
)
anthropic_client = anthropic.Anthropic(base_url=BASE, api_key="sk-ant", max_retries=0, timeout=20)
gemini_client = genai.Client(
    api_key="goog",
    http_options=genai_types.HttpOptions(base_url=BASE, retry_options=genai_types.HttpRetryOptions(attempts=1)),
)
bedrock_client = boto3.client(
    "bedrock-runtime", region_name="us-east-1", endpoint_url=BASE, aws_access_key_id="AKIDSIM",
    aws_secret_access_key="secret", config=RETRIES,
)


def message(**script):
    return "Please [[sim " + json.dumps({**FAST, **script}) + "]] help."


# OpenAI Responses


def responses(**script):
    return list(
        openai_client.responses.create(
            model="sim-coach-1", instructions=SYSTEM, input=message(**script), stream=True, store=False
        )
    )


@check("openai: a Responses stream has text, numbered events and usage")
def _():
    events = responses(text=TEXT, thinking="hm", usage={**USAGE, "reasoning_tokens": 10})
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == TEXT
    assert [e.sequence_number for e in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed" and last.response.output_text == TEXT
    usage = last.response.usage
    assert (usage.input_tokens, usage.output_tokens) == (50, 30)
    assert usage.input_tokens_details.cached_tokens == 20 and usage.output_tokens_details.reasoning_tokens == 10


@check("openai: the helper of Responses streams accumulates")
def _():
    with openai_client.responses.stream(model="sim-coach-1", input=message(text=TEXT)) as stream:
        assert stream.get_final_response().output_text == TEXT


@check("openai: a Responses stream that is incomplete, one with an error, and a refused one")
def _():
    last = responses(words=3, finish_reason="length")[-1]
    assert last.type == "response.incomplete" and last.response.incomplete_details.reason == "max_output_tokens"
    try:
        events = responses(words=5, error_after_tokens=2)
        assert events[-1].type == "error" and events[-1].code == "server_error"
    except openai.APIError as error:
        assert error.code == "server_error"
    raises(openai.RateLimitError, lambda: responses(http_error={"status": 429}))
    raises(openai.NotFoundError, lambda: list(openai_client.responses.create(model="gpt-x", input="a", stream=True)))


# Azure OpenAI


def azure(**script):
    return list(
        azure_client.chat.completions.create(
            model="sim-deployment", messages=[{"role": "user", "content": message(**script)}], stream=True,
            stream_options={"include_usage": True},
        )
    )


@check("openai: the Azure client streams by the name of a deployment, filter results first")
def _():
    chunks = azure(text=TEXT)
    assert not chunks[0].choices and chunks[0].model_extra["prompt_filter_results"]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == TEXT
    assert chunks[-1].usage.total_tokens > 0
    raises(openai.AuthenticationError, lambda: azure(http_error={"status": 401}))


# Anthropic


def claude(**script):
    return anthropic_client.messages.stream(
        model="sim-coach-1", max_tokens=1000, system=SYSTEM, messages=[{"role": "user", "content": message(**script)}]
    )


@check("anthropic: a stream has text, thinking and usage")
def _():
    with claude(text=TEXT, thinking="hm", usage=USAGE) as stream:
        assert "".join(stream.text_stream) == TEXT
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text"] and final.stop_reason == "end_turn"
    usage = final.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (30, 20, 30)


@check("anthropic: the token limit, an error in the stream, refused requests")
def _():
    with claude(words=3, finish_reason="length") as stream:
        assert stream.get_final_message().stop_reason == "max_tokens"

    def failing():
        with claude(words=5, error_after_tokens=2) as stream:
            for _ in stream.text_stream:
                pass

    assert "Overloaded" in str(raises(anthropic.APIStatusError, failing))

    def refused(status, kind):
        def run():
            with claude(http_error={"status": status, "retry_after": 1}):
                pass

        error = raises(kind, run)
        assert error.response.headers["retry-after"] == "1"

    refused(429, anthropic.RateLimitError)
    refused(529, anthropic.InternalServerError)
    refused(401, anthropic.AuthenticationError)


# Gemini


def gemini(**script):
    return list(
        gemini_client.models.generate_content_stream(
            model="sim-coach-1", contents=message(**script),
            config=genai_types.GenerateContentConfig(system_instruction=SYSTEM, max_output_tokens=1000),
        )
    )


@check("google-genai: a stream has text, thoughts and usage")
def _():
    chunks = gemini(text=TEXT, thinking="hm", usage={**USAGE, "reasoning_tokens": 10})
    parts = [p for c in chunks for p in c.candidates[0].content.parts]
    assert "".join(p.text for p in parts if not p.thought) == TEXT
    assert "".join(p.text for p in parts if p.thought) == "hm"
    assert chunks[-1].candidates[0].finish_reason == genai_types.FinishReason.STOP
    usage = chunks[-1].usage_metadata
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (50, 20)
    assert (usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count) == (20, 10, 80)


@check("google-genai: a safety stop, an error in the stream (bare and framed), refused requests")
def _():
    assert gemini(words=3, finish_reason="content_filter")[-1].candidates[0].finish_reason == genai_types.FinishReason.SAFETY
    assert raises(genai_errors.ServerError, lambda: gemini(words=5, error_after_tokens=2, bare_error=True)).code == 503
    assert raises(genai_errors.APIError, lambda: gemini(words=5, error_after_tokens=2)).code == 503
    assert raises(genai_errors.ClientError, lambda: gemini(http_error={"status": 429})).status == "RESOURCE_EXHAUSTED"
    assert raises(genai_errors.ServerError, lambda: gemini(http_error={"status": 503})).code == 503


# Bedrock


def bedrock(**script):
    answer = bedrock_client.converse_stream(
        modelId="anthropic.sim-coach-1:0", system=[{"text": SYSTEM}], inferenceConfig={"maxTokens": 1000},
        messages=[{"role": "user", "content": [{"text": message(**script)}]}],
    )
    return list(answer["stream"])


@check("boto3: a stream has text, reasoning, and usage behind the stop")
def _():
    events = bedrock(text=TEXT, thinking="hm", usage=USAGE)
    deltas = [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]
    assert "".join(d.get("text", "") for d in deltas) == TEXT
    assert deltas[0]["reasoningContent"]["text"] == "hm"
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert events[-2] == {"messageStop": {"stopReason": "end_turn"}}
    usage = events[-1]["metadata"]["usage"]
    assert (usage["inputTokens"], usage["cacheReadInputTokens"], usage["outputTokens"]) == (30, 20, 30)


@check("boto3: an exception in the stream, refused requests")
def _():
    error = raises(botocore.exceptions.EventStreamError, lambda: bedrock(words=5, error_after_tokens=2))
    assert error.response["Error"]["Code"] == "throttlingException"
    for status, code in [(429, "ThrottlingException"), (400, "ValidationException"), (503, "ServiceUnavailableException")]:
        error = raises(botocore.exceptions.ClientError, lambda: bedrock(http_error={"status": status}))
        assert error.response["Error"]["Code"] == code


run_checks()
