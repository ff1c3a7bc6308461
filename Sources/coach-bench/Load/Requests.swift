import Foundation
import OpenSSLCrypto

/// Builds the bytes of requests before the run.
enum Requests {
    /// A request to a provider, or to a proxy in front of one.
    static func openAI(host: String, path: String, key: String) -> [UInt8] {
        let system =
            "You are a warm, practical coach. Ask one question at a time, name what the person already does well, and suggest one "
            + "small step. Never diagnose. Keep answers short enough to read on a phone."
        let body =
            #"{"model":"gpt-4.1-mini","stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"max_completion_tokens":1024,"#
            + #""messages":[{"role":"system","content":"\#(system)"},{"role":"user","content":"\#(message)"}]}"#
        return post(host: host, path: path, bearer: key, body: body)
    }

    /// A request to the gateway by a user, in a new conversation or in the one that `deploy/python/coach_tools/bench/history.py` creates for the user.
    /// - Parameter persona: the id of the persona that answers; nil: none.
    static func gateway(host: String, path: String, user: Int, secret: String, inConversation: Bool, persona: String? = nil) -> [UInt8] {
        let conversation = inConversation ? #","conversation_id":"\#(identifier("be9cc000", user))""# : ""
        let persona = persona.map { #","persona_id":"\#($0)""# } ?? ""
        return post(
            host: host, path: path, bearer: token(user: user, secret: secret),
            body: #"{"message":"\#(message)"\#(conversation)\#(persona)}"#)
    }

    /// The id of a user or conversation; `deploy/python/coach_tools/bench/history.py` computes the same ids in SQL.
    private static func identifier(_ prefix: String, _ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "\(prefix)-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static let message = "I keep putting off a hard talk with my manager about my workload. Where do I start?"

    private static func post(host: String, path: String, bearer: String, body: String) -> [UInt8] {
        Array(
            ("POST \(path) HTTP/1.1\r\nHost: \(host)\r\nAuthorization: Bearer \(bearer)\r\nAccept: text/event-stream\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
    }

    /// An HS256 access token in the issuer's format, valid for four hours.
    private static func token(user: Int, secret: String) -> String {
        let id = identifier("be9c0000", user)
        let now = Int(Date().timeIntervalSince1970)
        let claims = #"{"aud":"authenticated","exp":\#(now + 14_400),"iat":\#(now),"role":"authenticated","sub":"\#(id)"}"#
        let signed = base64URL(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + base64URL(Data(claims.utf8))
        return signed + "." + base64URL(Data(AuthenticationKey(secret.utf8).code(of: Array(signed.utf8))))
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
