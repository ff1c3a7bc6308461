import JSON
import Testing

@Suite("JSONReader")
struct JSONReaderTests {
    private static func body(_ json: String) throws(JSONFinding) -> JSONReader {
        try JSONReader(parsing: Array(json.utf8), flaws: .rejectedWhereRead, spelling: .snakeOrCamelCase)
    }

    /// The finding of a body; nil if it is accepted.
    private static func finding(_ json: String, _ read: (JSONReader) throws(JSONFinding) -> Void) -> JSONFinding? {
        do throws(JSONFinding) {
            try read(body(json))
            return nil
        } catch {
            return error
        }
    }

    @Test("members of every type are read in both spellings, and null counts as absent")
    func types() throws {
        let body = try Self.body(#"{"firstName":"a","max_count":3.0,"isActive":true,"inner_list":[{"x":1}],"nothing":null}"#)
        #expect(try body.required("first_name") == "a")
        #expect(try body.required("max_count") == 3)
        #expect(try body.required("is_active") == true)
        #expect(try body.value("inner_list")?.elements?.first?["x"] == 1)
        #expect(try body.value("nothing") == nil)
        #expect(body.contains("nothing") && !body.contains("absent"))
        #expect(try body.optional("absent", as: String.self) == nil)
    }

    @Test("a flaw deep inside a member is a finding of that member, but not of one whose name is a prefix of it")
    func flawsInside() {
        for (json, name, problem) in [
            (#"{"values":{"a":{"b":"\u0000"}}}"#, "values", .nulCharacter),
            (#"{"theValues":["a","\ud800"]}"#, "the_values", .loneSurrogate),
            (#"{"values":{"a":1,"a":1}}"#, "values", .repeated),
            (#"{"values":[1e999]}"#, "values", .numberTooLarge),
        ] as [(String, String, JSONFinding.Problem)] {
            #expect(Self.finding(json) { (body) throws(JSONFinding) in _ = try body.value(name) } == JSONFinding(name, problem))
        }
        let other = #"{"values":1,"valuesOld":"\u0000"}"#
        #expect(Self.finding(other) { (body) throws(JSONFinding) in _ = try body.value("values") } == nil)
    }

    /// Without an index this takes some 10⁹ comparisons.
    @Test("many flaws beside many values cost little: all that fit into a body", .timeLimit(.minutes(1)))
    func manyFlaws() throws {
        let elements = Array(repeating: "{}", count: 42_000).joined(separator: ",")
        let flaws = Array(repeating: #""":0"#, count: 25_000).joined(separator: ",")
        let start = ContinuousClock.now
        let error = try #require(throws: JSONFindings.self) {
            let bytes = Array(#"{"list":[\#(elements)],"x":{\#(flaws)}}"#.utf8)
            return try JSONReader.read(parsing: bytes, flaws: .rejectedWhereRead, spelling: .snakeOrCamelCase, limit: 50) {
                (body) throws(JSONFinding) in
                for element in try body.elements("list", 0...Int.max) { _ = try element.required("role", as: String.self) }
            }
        }
        #expect(error.first == JSONFinding("list[0].role", .missing))
        #expect(start.duration(to: .now) < .seconds(5), "\(start.duration(to: .now))")
    }

    @Test("a flaw is a finding where it is read, at any depth, and nowhere else")
    func nestedFlaws() {
        let json = #"{"keys":[{"kid":"a","kid":"b"},{"kid":"c"}]}"#
        let finding = Self.finding(json) { (body) throws(JSONFinding) in
            let keys = try body.elements("keys", 0...2)
            _ = try keys[1].required("kid", as: String.self)
            _ = try keys[0].required("kid", as: String.self)
        }
        #expect(finding == JSONFinding("keys[0].kid", .repeated))
    }

    @Test("a flaw of an element is a finding of that element")
    func flawsOfElements() {
        for (json, path, problem) in [
            (#"{"starters":["a","b\ud800"]}"#, "starters[1]", .loneSurrogate), (#"{"starters":["\u0000"]}"#, "starters[0]", .nulCharacter),
        ] as [(String, String, JSONFinding.Problem)] {
            let finding = Self.finding(json) { (body) throws(JSONFinding) in _ = try body.required("starters", .list(0...6, .text(1...9))) }
            #expect(finding == JSONFinding(path, problem))
        }
    }

    @Test("a fraction for an integer and a number for a boolean are of the wrong type")
    func wrongTypes() {
        let fraction = Self.finding(#"{"n":1.5}"#) { (body) throws(JSONFinding) in _ = try body.optional("n", as: Int.self) }
        #expect(fraction == JSONFinding("n", .wrongType(expected: .number)))
        let number = Self.finding(#"{"n":1}"#) { (body) throws(JSONFinding) in _ = try body.optional("n", as: Bool.self) }
        #expect(number == JSONFinding("n", .wrongType(expected: .bool)))
    }

    @Test("a byte order mark before the text is ignored, a second one is not")
    func byteOrderMark() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = Array(#"{"name":"x"}"#.utf8)
        #expect(try JSONReader(parsing: mark + text).required("name") == "x")
        #expect(throws: JSONFinding.self) { try JSONReader(parsing: mark + mark + text) }
    }

    private enum Colour: String, CaseIterable { case red, green }

    private struct Item: Equatable {
        var name: String
        var size: Int
        var colour: Colour

        init(_ json: JSONReader) throws(JSONFinding) {
            name = try json.required("name", .text(2...4))
            size = try json.optional("size", .integer(1...9)) ?? 1
            colour = try json.required("colour", .choice)
            try json.rejectUnknown(besides: ["note"])
        }
    }

    private static func items(_ root: JSONReader) throws(JSONFinding) -> [Item] {
        let items = try root.required("items", .list(1...3, .object(Item.init)))
        try root.rejectUnknown()
        return items
    }

    @Test("the same declarations collect all findings, or throw the first")
    func modes() throws {
        let wrong = Array(
            #"""
            {"items":[{"name":"x","size":10,"colour":"blue"},{"name":1,"note":2,"colour":3,"weight":4},5,{"name":"  "}],"extra":{}}
            """#.utf8)
        let (value, findings) = JSONReader.collect(wrong, Self.items)
        #expect(value == nil)
        #expect(
            findings.map(\.description) == [
                "items must have 1 to 3 elements, has 4",
                "items[0].name must have at least 2 characters",
                "items[0].size must be a whole number from 1 to 9",
                "items[0].colour must be red or green",
                "items[1].name must be of type string",
                "items[1].colour must be of type string",
                "items[1].weight is unknown",
                "items[2] must be of type object",
                "extra is unknown",
            ])
        let first = try #require(findings.first)
        #expect(throws: first) { try Self.items(JSONReader(parsing: wrong)) }
        let right = Array(#"{"items":[{"name":"ab","colour":"green"}]}"#.utf8)
        #expect(JSONReader.collect(right, Self.items).value?.first?.colour == .green)
        #expect(try Self.items(JSONReader(parsing: right)).count == 1)
    }

    @Test("a valid body is read once; otherwise all findings are thrown, up to a limit")
    func findings() throws {
        var reads = 0
        func read(_ json: String, limit: Int = 50) throws(JSONFindings) -> Item {
            try JSONReader.read(parsing: Array(json.utf8), flaws: .rejectedWhereRead, spelling: .exact, limit: limit) {
                (json) throws(JSONFinding) in
                reads += 1
                return try Item(json)
            }
        }
        #expect(try read(#"{"name":"ab","colour":"red"}"#).colour == .red)
        #expect(reads == 1)
        let wrong = #"{"name":"x","size":"\u0000","colour":"blue"}"#
        let error = try #require(throws: JSONFindings.self) { try read(wrong) }
        #expect(error.all.map(\.path) == ["name", "size", "size", "colour"], "\(error.all)")
        #expect(throws: JSONFindings(error.first, others: [error.others[0]])) { try read(wrong, limit: 2) }
        for (text, malformed) in [("{", true), ("[]", false)] {
            let error = try #require(throws: JSONFindings.self) { try read(text) }
            #expect(error.others.isEmpty && error.first.path.isEmpty)
            if case .malformed = error.first.problem { #expect(malformed) } else { #expect(!malformed) }
        }
    }

    @Test("text that is not an object is one finding, and a repeated name is one with its line")
    func whole() {
        for text in ["", "[]", "{", "null"] { #expect(JSONReader.collect(Array(text.utf8), Self.items).findings.count == 1, "\(text)") }
        let repeated = JSONReader.collect(Array("{\"items\":[{\"name\":\"ab\",\"colour\":\"red\"}],\n\"items\":[]}".utf8), Self.items)
        #expect(repeated.value == nil)
        #expect(repeated.findings.first?.description.hasPrefix("cannot be read: line 2, column 9: a member is named twice") == true)
    }

    @Test("a text with very many findings costs no more than some of them, and a list that is too long is read as far as it may be")
    func bounds() {
        let text = Array("{\"items\":[\(String(repeating: "1,", count: 100_000))1]}".utf8)
        var (read, found) = (0, 0)
        let time = ContinuousClock().measure {
            found =
                JSONReader.collect(text) { (json) throws(JSONFinding) in
                    for element in try json.elements("items", 0...200_000) { try element.report(.invalid("is wrong")) }
                }.findings.count
            _ = JSONReader.collect(text) { (json) throws(JSONFinding) in read = try json.elements("items", 1...3).count }
        }
        #expect(found == 200 && read == 3)
        // Compared with each other they would take minutes.
        #expect(time < .seconds(5), "\(time)")
    }

    @Test("a text with very many flaws has the first of them as findings")
    func flawsBeyondTheBound() {
        let text = Array("{\"items\":[\(Array(repeating: #""\u0000""#, count: 1000).joined(separator: ",\n"))]}".utf8)
        let (value, findings) = JSONReader.collect(text) { (_) throws(JSONFinding) in true }
        #expect(value == nil && findings.count == 200)
        #expect(findings.last?.description.hasPrefix("cannot be read: line 200, ") == true)
    }

    @Test("a flaw is found in a member whose name begins with a combining character")
    func combiningName() {
        let text = Array(#"{"a":{"\u0301":"\u0000"}}"#.utf8)
        #expect(throws: JSONFinding.self) { try JSONReader(parsing: text, flaws: .rejectedWhereRead).value("a") }
        #expect(throws: JSONFinding.self) { try JSONReader(parsing: text, flaws: .rejectedWhereRead).object("a").rejectFlaws() }
    }

    @Test("an object that is missing is one finding, although its members are read")
    func missingObject() {
        let (_, findings) = JSONReader.collect(Array("{}".utf8)) { (root) throws(JSONFinding) in
            let object = try root.object("a")
            _ = try object.required("b", as: Int.self)
            _ = try object.elements("c", 1...2)
            try object.report("d", .missing)
        }
        #expect(findings == [JSONFinding("a", .missing)])
    }

    @Test("a finding never contains the value")
    func secrets() {
        let json = #"{"a":"canary","b":["canary"],"c":"canary"}"#
        let (_, findings) = JSONReader.collect(Array(json.utf8)) { (root) throws(JSONFinding) in
            _ = try root.required("a", as: Int.self)
            _ = try root.required("b", .list(1...1, .choice)) as [Colour]
            _ = try root.required("c", .text(1...3))
        }
        #expect(findings.count == 3 && !findings.contains { $0.description.contains("canary") })
    }
}
