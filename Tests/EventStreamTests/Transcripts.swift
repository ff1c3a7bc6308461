/// Streams in the formats of four kinds of senders, with multi-byte text and unusual syntax.
enum Transcripts {
    static let openAI = """
        data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}

        data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Atme \u{2028}tief — 🫶🏽"},"finish_reason":null}],"usage":null}

        data: {"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12}}

        data: [DONE]


        """

    static let anthropic = """
        event: message_start
        data: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":25,"output_tokens":1}}}

        event: ping
        data: {"type": "ping"}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"¿Qué pasó?"}}

        event: message_stop
        data: {"type":"message_stop"}


        """

    static let gemini =
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Grüße\"}]}}]}\r\n\r\n"
        + "data: {\"candidates\": [{\"finishReason\": \"STOP\"}],\r\ndata:  \"usageMetadata\": {\"promptTokenCount\": 4}}\r\n\r\n"
        + "{\"error\":{\"code\":503}}\r\n"

    static let gateway = """
        id: 0
        data: {"type":"start","done":false}

        : ping

        id: 4
        data: {"type":"token","done":false,"content":"Hié"}

        id: 4
        data: {"type":"done","done":true}


        """

    /// A byte-order mark, lone carriage returns, empty values, a field without a colon, an id without a value.
    static let corners = "\u{FEFF}:c\rdata\rdata: x\r\rid: 7\rretry: 20\revent:e\rdata:  y\n\r\nid\rdata:z\r\n\r\n"

    static let all = [openAI, anthropic, gemini, gateway, corners]
}
