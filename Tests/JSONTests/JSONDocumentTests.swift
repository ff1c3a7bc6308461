import JSON
import TestSupport
import Testing

struct JSONDocumentTests {
    @Test("a tree keeps the order of members, and is written as it was parsed")
    func roundTrip() throws {
        let json = #"{"z":1,"a":[true,false,null,-0.5,"é\u2028\n"],"m":{"":{}},"big":1e+20}"#
        let value = try JSONValue(parsing: Array(json.utf8))
        #expect(text(value.bytes) == json)
        #expect(value["z"]?.integer == 1)
        #expect(value["a"]?.elements?.count == 5)
        #expect(value["none"] == nil)
    }

    @Test("literals make the same tree")
    func literals() throws {
        let literal: JSONValue = ["limit": 20, "list": [1, 0.5, "x", true, .null]]
        #expect(try literal == JSONValue(parsing: Array(#"{"limit":20,"list":[1,0.5,"x",true,null]}"#.utf8)))
    }

    @Test("lone surrogates, U+0000 and repeated names are collected with their paths")
    func findings() throws {
        let json = #"{"message":"a\ud800","list":[{"name":"\u0000"}],"x":1,"\u0078":2,"ok":"\ud83d\ude00"}"#
        let document = try JSONDocument(parsing: Array(json.utf8))
        #expect(document.findings.map(\.kind) == [.loneSurrogate, .nulCharacter, .duplicateKey])
        #expect(document.findings.map(\.path) == ["message", "list[0].name", "x"])
        #expect(document.value["message"]?.string == "a\u{FFFD}")
        #expect(document.value["x"]?.integer == 2)
        #expect(kind { _ = try JSONValue(parsing: Array(json.utf8)) } == .loneSurrogate)
    }

    @Test("a number beyond a double is a finding, and becomes the largest finite double")
    func largestNumber() throws {
        let document = try JSONDocument(parsing: Array(#"{"a":[1e400,-1e400],"b":"kept"}"#.utf8))
        #expect(document.findings.map(\.kind) == [.numberOutOfRange, .numberOutOfRange])
        #expect(document.value["a"] == .array([.number(.greatestFiniteMagnitude), .number(-.greatestFiniteMagnitude)]))
        #expect(document.value["b"] == "kept")
    }

    @Test("a reader may permit fewer containers inside each other", arguments: [1, 3, 128])
    func maximumDepth(_ limit: Int) throws {
        func nested(_ count: Int) -> [UInt8] {
            Array((String(repeating: #"[{"a":"#, count: count / 2) + (count.isMultiple(of: 2) ? "1" : "[1]")).utf8)
                + Array(String(repeating: "}]", count: count / 2).utf8)
        }
        _ = try JSONDocument(parsing: nested(limit), maximumDepth: limit)
        _ = try JSONReader(parsing: nested(limit), maximumDepth: limit)
        #expect(kind { _ = try JSONDocument(parsing: nested(limit + 1), maximumDepth: limit) } == .tooDeep)
        #expect(throws: JSONFinding.self) { try JSONReader(parsing: nested(limit + 1), maximumDepth: limit) }
    }

    @Test("a lone surrogate in a name is a finding, and two normal forms of a name are two names")
    func names() throws {
        #expect(try JSONDocument(parsing: Array(#"{"a\ud800":1}"#.utf8)).findings.map(\.kind) == [.loneSurrogate])
        #expect(try JSONDocument(parsing: Array(#"{"\u00e9":1,"e\u0301":2}"#.utf8)).findings.isEmpty)
        #expect(try JSONDocument(parsing: Array(#"{"a":{"a":1},"b":{"a":1}}"#.utf8)).findings.isEmpty)
    }

    @Test("a repeated name is found in objects of every size", arguments: [1, 2, 15, 16, 17, 18, 40])
    func repeatedNames(count: Int) throws {
        let names = (0..<count).map { "n\($0)" }
        func text(_ names: [String]) -> [UInt8] { Array("{\(names.map { "\"\($0)\":1" }.joined(separator: ","))}".utf8) }
        #expect(try JSONDocument(parsing: text(names)).findings.isEmpty)
        for name in names { #expect(try JSONDocument(parsing: text(names + [name])).findings.map(\.path) == [name]) }
    }

    @Test("text that is not UTF-8 is malformed even when a finding comes first")
    func malformedWins() {
        let bytes = Array(#"["\ud800",""#.utf8) + [0xC3] + Array(#""]"#.utf8)
        #expect(kind { _ = try JSONDocument(parsing: bytes) } == .malformedUTF8)
    }

    @Test("an error has the path and offset of the malformed byte")
    func errorPath() {
        do {
            _ = try JSONDocument(parsing: Array(#"{"a":{"b":[1,x]}}"#.utf8))
            Issue.record("accepted")
        } catch {
            #expect(error == JSONError(.unexpectedByte(0x78), offset: 13, path: "a.b[1]"))
        }
    }

    @Test("thousands of findings below a long name have truncated paths")
    func manyFindings() throws {
        let name = String(repeating: "n", count: 100_000)
        let json = "{\"\(name)\":[" + Array(repeating: #""\u0000""#, count: 10_000).joined(separator: ",") + "]}"
        let findings = try JSONDocument(parsing: Array(json.utf8)).findings
        #expect(findings.count == 10_000)
        #expect(findings.allSatisfy { $0.path.utf8.count < 300 })
    }

    @Test("a finding costs about the same at every depth")
    func deepFindings() throws {
        func shortestTime(depth: Int) throws -> Duration {
            let flaws = Array(repeating: #""\u0000""#, count: 40_000).joined(separator: ",")
            let start = String(repeating: #"{"a":"#, count: depth - 1)
            let json = Array("\(start)[\(flaws)]\(String(repeating: "}", count: depth - 1))".utf8)
            var times: [Duration] = []
            for _ in 0..<3 {
                let clock = ContinuousClock()
                let begin = clock.now
                let document = try JSONDocument(parsing: json)
                times.append(clock.now - begin)
                #expect(document.findings.count == 40_000)
                let names = Array(repeating: "a", count: depth - 1).joined(separator: ".")
                #expect(document.findings.last?.path == "\(names)[39999]")
            }
            return try #require(times.min())
        }
        let (shallow, deep) = (try shortestTime(depth: 1), try shortestTime(depth: 115))
        #expect(deep < shallow * 4, "\(deep), \(shallow)")
    }

    @Test("the path of a finding is right after deeper and longer ones")
    func pathsAfterEachOther() throws {
        let long = String(repeating: "n", count: 300)
        let json = #"{"a":{"b":[{"c":"\u0000"},"\u0000"],"\#(long)":{"d":"\u0000"},"e":1e400},"f":["\u0000",1,["\u0000"]],"f":1}"#
        let cut = "a.\(long.prefix(256))…"
        let paths = try JSONDocument(parsing: Array(json.utf8)).findings.map(\.path)
        #expect(paths == ["a.b[0].c", "a.b[1]", cut, "a.e", "f[0]", "f[2][0]", "f"])
    }
}
