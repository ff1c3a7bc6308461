import GatewayAPI
import JSON
import Testing

struct RequestBodyTests {
    /// The error for the field; nil if it is accepted.
    static func refusal(_ json: String, _ read: (RequestBody) throws(RequestBodyError) -> Void) -> RequestBodyError? {
        do throws(RequestBodyError) {
            try read(RequestBody(parsing: Samples.bytes(json)))
            return nil
        } catch {
            return error
        }
    }

    @Test("fields of every type are read in both spellings, and null counts as absent")
    func types() throws {
        let body = try RequestBody(
            parsing: Samples.bytes(#"{"firstName":"a","max_count":3.0,"isActive":true,"inner_list":[{"x":1}],"nothing":null}"#))
        #expect(try body.string("first_name") == "a")
        #expect(try body.integer("max_count") == 3)
        #expect(try body.bool("is_active") == true)
        #expect(try body.value("inner_list")?.elements?.first?["x"] == 1)
        #expect(try body.value("nothing") == nil)
        #expect(try body.string("absent") == nil)
    }

    @Test("invalid text deep inside a field rejects that field, but not a field whose name is a prefix of it")
    func flawsInside() {
        let object = #"{"values":{"a":{"b":"\u0000"}}}"#
        #expect(Self.refusal(object) { (body) throws(RequestBodyError) in _ = try body.value("values") } == .field("values", .nulCharacter))
        let array = #"{"theValues":["a","\ud800"]}"#
        #expect(
            Self.refusal(array) { (body) throws(RequestBodyError) in _ = try body.value("the_values") }
                == .field("the_values", .loneSurrogate))
        let repeated = #"{"values":{"a":1,"a":1}}"#
        #expect(Self.refusal(repeated) { (body) throws(RequestBodyError) in _ = try body.value("values") } == .field("values", .repeated))
        let other = #"{"values":1,"valuesOld":"\u0000"}"#
        #expect(Self.refusal(other) { (body) throws(RequestBodyError) in _ = try body.value("values") } == nil)
    }

    @Test("a fraction for an integer and a number for a boolean are of the wrong type")
    func wrongTypes() {
        #expect(
            Self.refusal(#"{"n":1.5}"#) { (body) throws(RequestBodyError) in _ = try body.integer("n") }
                == .field("n", .wrongType(expected: .number)))
        #expect(
            Self.refusal(#"{"n":1}"#) { (body) throws(RequestBodyError) in _ = try body.bool("n") }
                == .field("n", .wrongType(expected: .bool)))
    }

    @Test("a byte order mark before the body is ignored, a second one is not")
    func byteOrderMark() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let body = Array(#"{"name":"x"}"#.utf8)
        #expect(try RequestBody(parsing: mark + body).string("name") == "x")
        #expect(throws: RequestBodyError.self) { try RequestBody(parsing: mark + mark + body) }
    }
}
