import JSON

/// An error response in OpenAI's format: the status and the four fields of its error object.
struct OpenAIFault: Error, Equatable {
    var status: Int
    var message: String
    var type: String
    var param: String?
    var code: String?

    var body: [UInt8] {
        JSONWriter.encode { json in
            json.object { json in
                json.key(literal: "error")
                json.object { json in
                    json.member("code", code)
                    json.member("message", message)
                    json.member("param", param)
                    json.member("type", type)
                }
            }
        }
    }

    static func invalid(_ message: String, param: String? = nil, code: String? = nil) -> OpenAIFault {
        OpenAIFault(status: 400, message: message, type: "invalid_request_error", param: param, code: code)
    }

    static let missingKey = OpenAIFault(
        status: 401,
        message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
            + "(i.e. Authorization: Bearer YOUR_KEY).",
        type: "invalid_request_error")

    /// The message contains only the ends of the key, as OpenAI's does.
    static func wrongKey(_ key: String) -> OpenAIFault {
        let hint = key.count > 12 ? "\(key.prefix(4))****\(key.suffix(4))" : "****"
        return OpenAIFault(
            status: 401, message: "Incorrect API key provided: \(hint).", type: "invalid_request_error", code: "invalid_api_key")
    }

    static func unknownModel(_ model: String) -> OpenAIFault {
        OpenAIFault(
            status: 404, message: "The model `\(model)` does not exist or you do not have access to it.", type: "invalid_request_error",
            code: "model_not_found")
    }

    static func unknownRoute(method: String, path: String) -> OpenAIFault {
        OpenAIFault(status: 404, message: "Invalid URL (\(method) \(path))", type: "invalid_request_error")
    }

    static func wrongMethod(method: String, path: String) -> OpenAIFault {
        OpenAIFault(
            status: 405, message: "Not allowed to \(method) on \(path)", type: "invalid_request_error", code: "method_not_supported")
    }

    /// The error of a script. Fields that the script omits have OpenAI's texts for the status.
    init(_ scripted: Script.HTTPError, model: String) {
        let usual = Self.usual(scripted.status, model: model)
        self.init(
            status: scripted.status, message: scripted.message ?? usual.message, type: scripted.type ?? usual.type,
            code: scripted.code ?? usual.code)
    }

    init(status: Int, message: String, type: String, param: String? = nil, code: String? = nil) {
        self.status = status
        self.message = message
        self.type = type
        self.param = param
        self.code = code
    }

    private static func usual(_ status: Int, model: String) -> (message: String, type: String, code: String?) {
        switch status {
        case 401: ("Incorrect API key provided: ****.", "invalid_request_error", "invalid_api_key")
        case 403: ("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory")
        case 404: ("The model `\(model)` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")
        case 429:
            (
                "Rate limit reached for \(model) on requests per min (RPM): Limit 10000, Used 10000, Requested 1.", "requests",
                "rate_limit_exceeded"
            )
        case 400..<500: ("The request was not accepted.", "invalid_request_error", nil)
        case 503: ("The engine is currently overloaded, please try again later", "server_error", "server_is_overloaded")
        default: ("The server had an error while processing your request. Sorry about that!", "server_error", nil)
        }
    }
}
